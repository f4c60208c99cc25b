/** Own process: it reads the metrics of the process. */
/** The operator's metrics: each is served, described, well named, and moves. */

import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { publicText } from "../../../../schemas/PublicText.ts"
import { RuntimeRefused } from "../../../../src/runtime/Runtime.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { families, sampleOf } from "../../../support/Scrape.ts"

layer(TestApi.layer({ ATOLL_PARALLEL_STARTS: "1" }), { excludeTestServices: true })("metrics", (it) => {
  it.effect("are all described, and named by Prometheus' rules", () =>
    Effect.gen(function* () {
      const { scrapes } = yield* TestApi
      for (const text of yield* Effect.promise(scrapes)) {
        const all = families(text)
        assert.isAbove(all.size, 40)
        for (const [name, { help, type }] of all) {
          assert.isNotEmpty(help, `${name} has no HELP`)
          assert.match(name, /^(atoll|process|nodejs|effect_cluster)_[a-z0-9_]+$/)
          assert.strictEqual(name.endsWith("_total"), type === "counter", `${name} is a ${type}`)
          assert.notMatch(name, /_(ms|millis|milliseconds|kb|mb|mib|percent)(_|$)/)
        }
      }
    })
  )

  /** Counted by all processes together. */
  const sum = (texts: ReadonlyArray<string>, series: string) =>
    texts.reduce((all, text) => all + (sampleOf(text, series) ?? 0), 0)

  const until = (holds: (texts: ReadonlyArray<string>) => boolean) =>
    Effect.gen(function* () {
      const { scrapes } = yield* TestApi
      while (!holds(yield* Effect.promise(scrapes))) yield* Effect.sleep("20 millis")
    })

  const create = (workspaceId: string) =>
    Effect.flatMap(TestApi, ({ send }) =>
      Effect.promise(async () => {
        const made = await send("POST", "/api/v2/sandboxes", {
          body: { workspaceId },
          headers: { "idempotency-key": randomUUID() }
        })
        assert.strictEqual(made.status, 202, made.text)
        return made.json.sandbox.id as string
      })
    )

  it.effect("of Sandboxes, operations and the journal move", () =>
    Effect.gen(function* () {
      const { send, newWorkspace, scrapes } = yield* TestApi
      const before = yield* Effect.promise(scrapes)
      const first = yield* create(yield* Effect.promise(() => newWorkspace()))
      const ran = yield* Effect.promise(() =>
        send("POST", `/api/v2/sandboxes/${first}/execute`, { body: { argv: ["true"] } })
      )
      assert.strictEqual(ran.status, 200, ran.text)
      const started = yield* Effect.promise(() =>
        send("POST", `/api/v2/sandboxes/${first}/operations`, {
          body: { argv: ["true"] },
          headers: { "idempotency-key": randomUUID() }
        })
      )
      assert.strictEqual(started.status, 202, started.text)
      yield* until((texts) => sum(texts, 'atoll_transitions_total{kind="operation",to="completed"}') === 1)

      const after = yield* Effect.promise(scrapes)
      const grown = (series: string) => sum(after, series) - sum(before, series)
      assert.strictEqual(grown('atoll_boot_duration_seconds_count{outcome="up"}'), 1)
      assert.strictEqual(grown('atoll_transitions_total{kind="operation",to="completed"}'), 1)
      assert.strictEqual(grown('atoll_transitions_total{kind="sandbox",to="pending"}'), 1)
      assert.strictEqual(grown('atoll_transitions_total{kind="sandbox",to="running"}'), 1)
      assert.isAtLeast(grown('atoll_journal_batch_size_count{queue="commits"}'), 2)
      assert.isAtLeast(grown('atoll_journal_lag_seconds_count{queue="commits"}'), 2)
      assert.isAtLeast(sum(after, "atoll_actors_live"), 2)
      for (const [at, text] of after.entries()) {
        assert.isBelow(sampleOf(text, 'atoll_journal_lag_seconds_sum{queue="commits"}') ?? 0, 60)
        for (const series of ['atoll_journal_retries_total{queue="commits"}', 'atoll_journal_waiting{queue="commits"}'])
          assert.strictEqual(sampleOf(text, series), 0, series)
        for (const series of ["process_cpu_seconds_total", "nodejs_eventloop_active_seconds_total"])
          assert.isAbove(sampleOf(text, series)!, sampleOf(before[at]!, series)!, series)
      }
    })
  )

  it.effect("count boots that run, wait in the queue or are refused", () =>
    Effect.gen(function* () {
      const { newWorkspace, world, scrapes } = yield* TestApi
      const workspaceId = yield* Effect.promise(() => newWorkspace())
      // One boot runs, and one waits in the queue.
      world.intercept = (call) => (call === "provision" ? Effect.never : Effect.void)
      yield* create(workspaceId)
      yield* create(workspaceId)
      yield* until((texts) => sum(texts, "atoll_boots_in_progress") === 2)
      assert.strictEqual(sum(yield* Effect.promise(scrapes), "atoll_boots_waiting"), 1)
      world.intercept = (call) =>
        call === "provision"
          ? Effect.fail(new RuntimeRefused({ code: "HOST_FULL", message: publicText`The host is full.` }))
          : Effect.void
      yield* create(workspaceId)
      yield* until((texts) => sum(texts, 'atoll_boot_duration_seconds_count{outcome="refused"}') === 1)
    })
  )
})

layer(TestApi.layer(), { excludeTestServices: true })("metrics of what is stored", (it) => {
  it.effect("show Sandboxes, open operations and reserved resources, and are cached for a while", () =>
    Effect.gen(function* () {
      const { send, scrapes, newWorkspace, newSandbox } = yield* TestApi
      const scrape = Effect.promise(async () => (await scrapes())[0]!)
      const workspaceId = yield* Effect.promise(() => newWorkspace())
      const sandboxId = yield* Effect.promise(() => newSandbox(workspaceId))
      const stopped = yield* Effect.promise(() => newSandbox(workspaceId))
      yield* Effect.promise(() => send("POST", `/api/v2/sandboxes/${stopped}/stop`))
      const status = Effect.promise(async () => (await send("GET", `/api/v2/sandboxes/${stopped}`)).json.sandbox.status)
      while ((yield* status) !== "stopped") yield* Effect.sleep("10 millis")
      const started = yield* Effect.promise(() =>
        send("POST", `/api/v2/sandboxes/${sandboxId}/operations`, {
          body: { argv: ["sleep", "600"] },
          headers: { "idempotency-key": randomUUID() }
        })
      )
      assert.strictEqual(started.status, 202, started.text)
      const text = yield* scrape
      const { profile } = (yield* Effect.promise(() => send("GET", `/api/v2/sandboxes/${sandboxId}`))).json.sandbox
      const value = (series: string) => sampleOf(text, series)
      assert.strictEqual(value('atoll_sandboxes{status="running",runtime="namespace"}'), 1)
      assert.strictEqual(value('atoll_sandboxes{status="stopped",runtime="namespace"}'), 1)
      assert.strictEqual(value('atoll_sandboxes{status="pending",runtime="namespace"}'), 0)
      assert.strictEqual(value("atoll_host_memory_promised_bytes"), profile.memoryBytes)
      assert.strictEqual(value("atoll_host_disk_promised_bytes"), 2 * profile.diskBytes)
      const open = ["queued", "running"].map((one) => value(`atoll_operations_open{status="${one}"}`) ?? 0)
      assert.strictEqual(
        open.reduce((sum, one) => sum + one),
        1
      )
      const [total, available] = ["total", "available"].map((one) => value(`atoll_host_disk_${one}_bytes`)!)
      assert.isTrue(available! > 0 && available! < total!)
      assert.isBelow(value("atoll_host_memory_available_bytes")!, value("atoll_host_memory_total_bytes")!)
      assert.strictEqual(value("atoll_database_up"), 1)
      assert.strictEqual(value('atoll_database_connections_max{pool="journal"}'), 2)
      assert.isAtLeast(value('atoll_database_connections_open{pool="journal"}')!, 1)
      assert.isAtLeast(value("process_open_fds")!, 3)
      const runtime = isOverAFleet ? "fleet" : "simulated"
      assert.match(
        text,
        new RegExp(`^atoll_build_info\\{version="[\\d.]+",node="[\\d.]+",runtime="${runtime}"\\} 1$`, "m")
      )

      yield* Effect.promise(() => newSandbox(workspaceId))
      assert.strictEqual(sampleOf(yield* scrape, 'atoll_sandboxes{status="running",runtime="namespace"}'), 1)
    })
  )
})
