/**
 * An upgrade: an earlier version is stopped as systemd stops it, and this one is started on its data while Sandboxes
 * run.
 */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { request } from "node:http"
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { networkUnusable, skipped, unusable } from "../../support/host/namespace/TestHost.ts"
import { EventClient } from "../../support/http/EventClient.ts"
import type { Ask } from "../../support/http/TestApi.ts"
import { serviceIn } from "../../support/ServiceIn.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testFolder } from "../../support/testFolder.ts"
import { untilSeen } from "../../support/until.ts"
import { commitBefore, commitBeforeMigration, type EarlierVersion, sourcesOf } from "./EarlierVersion.ts"

type Service = Effect.Success<Effect.Success<ReturnType<typeof serviceIn>>["start"]>

/** Two starts and the work of a small account, on a busy machine. */
const patienceMs = 400_000
const pageBytes = 262_144
const hasNetwork = networkUnusable === null

/** Counts up as long as it lives. */
const counting =
  "echo $$ > count.pid; i=0; while :; do for k in 1 2 3 4 5; do echo $i; i=$((i+1)); done; sleep 0.02; done"

/** Sends a request to a service; an answer that is no success fails the test. */
const client = ({ send }: Service) => {
  const ask = async (method: string, path: string, given: Ask = {}) => {
    const answer = await send(method, `/api/v2${path}`, given)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer
  }
  return {
    get: async (path: string) => (await ask("GET", path)).json,
    text: async (path: string) => (await ask("GET", path)).text,
    post: async (path: string, body?: unknown, key: string = randomUUID()) =>
      (await ask("POST", path, { ...(body === undefined ? {} : { body }), headers: { "idempotency-key": key } })).json,
    write: (path: string, text: string) =>
      ask("PUT", path, { body: text, headers: { "content-type": "application/octet-stream" } })
  }
}
type Client = ReturnType<typeof client>

/** All that an operation has written to stdout. */
const outputOf = async ({ get }: Client, operation: string): Promise<string> => {
  const pieces: Array<Buffer> = []
  for (let offset = 0; ; ) {
    const output = await get(`${operation}/output?stream=stdout&offset=${offset}&limit=${pageBytes}`)
    assert.isFalse(output.truncated)
    if (output.nextOffset === offset) return Buffer.concat(pieces).toString()
    pieces.push(Buffer.from(output.data, "base64"))
    offset = output.nextOffset
  }
}

/** Its last number; fails where a number is missing, doubled or out of order. The last line may be half written. */
const countedIn = (output: string): number => {
  const lines = output.split("\n").slice(0, -1)
  for (const [at, line] of lines.entries()) assert.strictEqual(line, String(at))
  return lines.length
}

/** The page of a preview, from its name. */
const pageAt = (port: number, hostname: string): Promise<string> =>
  new Promise((resolve, reject) => {
    request({ port, host: "127.0.0.1", path: "/note", agent: false, headers: { host: hostname } }, async (answer) =>
      resolve(`${answer.statusCode} ${Buffer.concat(await answer.toArray())}`)
    )
      .on("error", reject)
      .end()
  })

/** Serves one file, with programs that every Debian has. */
const serving = [
  "perl",
  "-MIO::Socket::INET",
  "-e",
  `open my $p, ">", "serve.pid"; print $p $$; close $p; my $s = IO::Socket::INET->new(LocalPort => 3000, Listen => 9, ReuseAddr => 1) or die;
   while (my $c = $s->accept) { while (<$c>) { last if /^\\r?$/ } open my $f, "<", "note"; my $t = join "", <$f>;
   print $c "HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: " . length($t) . "\\r\\n\\r\\n$t"; close $c }`
]

/** The resources of an account in use; afterwards all of them are looked for. */
const lived = async (service: Service, key: string) => {
  const here = client(service)
  const feed = new EventClient(service.port, "/api/v2/events", { authorization: `Bearer ${key}` })
  await feed.until(() => feed.lastEventId !== null)
  const begin = feed.lastEventId!
  const { workspace } = await here.post("/workspaces", { name: "kept" })
  const made = { workspaceId: workspace.id, networkEnabled: hasNetwork }
  const [idle, busy] = await Promise.all(
    ["idle", "busy"].map(async (name) => {
      const { sandbox } = await here.post("/sandboxes?wait=running", { ...made, name }, name)
      await untilSeen(
        () => here.get(`/sandboxes/${sandbox.id}`),
        (seen) => seen.sandbox.status === "running"
      )
      return `/sandboxes/${sandbox.id}`
    })
  )
  await here.write(`${idle}/files/content?path=/workspace/note`, "of the one that is stopped\n")
  await here.write(`${busy}/files/content?path=/workspace/note`, "of the one that runs\n")
  const start = async (argv: ReadonlyArray<string>) =>
    `${busy}/operations/${(await here.post(`${busy}/operations`, { argv })).operation.id}`
  const done = await start(["sh", "-c", "echo done; echo but with 3 >&2; exit 3"])
  const count = await start(["sh", "-c", counting])
  await start(serving)
  await here.post(`${idle}/stop`)
  await untilSeen(
    () => here.get(idle!),
    ({ sandbox }) => sandbox.status === "stopped"
  )
  await untilSeen(
    () => here.get(done),
    ({ operation }) => operation.status === "completed"
  )
  const preview = hasNetwork ? (await here.post(`${busy}/previews`, { port: 3000 })).preview : null
  if (preview !== null) {
    await untilSeen(
      () => pageAt(service.port, preview.hostname),
      (page) => page.startsWith("200")
    )
  }
  const access = { requested_at: new Date().toISOString(), ports: [3000] }
  const accessKey = randomUUID()
  const { capability } = await here.post(`${busy}/services`, access, accessKey)
  await untilSeen(
    () => outputOf(here, count),
    (text) => countedIn(text) > 20
  )
  return { idle: idle!, busy: busy!, done, count, preview, access, accessKey, capability, made, begin, feed }
}
type Life = Awaited<ReturnType<typeof lived>>

/** The processes that count and serve: their pids, and when they began. */
const processesOf = async ({ post }: Client, { busy }: Life): Promise<string> => {
  const look =
    "until test -s serve.pid; do sleep 0.1; done; for p in $(cat count.pid serve.pid); do cut -d ' ' -f 1,22 /proc/$p/stat; done"
  const { result } = await post(`${busy}/execute`, { argv: ["sh", "-c", look] })
  assert.match(result.stdout, /^(\d+ \d+\n){2}$/)
  return result.stdout
}

/** The fields that stay unchanged, as the API shows them. */
const told = async ({ get, text }: Client, { idle, busy, done, count }: Life) => {
  const { operation } = await get(count)
  const { output: _, ...counting } = operation
  return {
    workspaces: await get("/workspaces"),
    stopped: await get(idle),
    running: await get(busy),
    ended: await get(done),
    output: await get(`${done}/output?stream=stdout&offset=0`),
    counting,
    note: await text(`${busy}/files/content?path=/workspace/note`),
    log: await get(`${busy}/logs?stream=stderr&source=process`),
    // The possible next events differ between versions.
    lives: await Promise.all(
      [idle, busy, done, count].map(async (one) => {
        const { nextEvents: _, ...life } = await get(`${one}/transitions`)
        return life
      })
    )
  }
}

const upgradeFrom = (version: EarlierVersion) =>
  Effect.gen(function* () {
    const { url } = yield* TestDatabase
    const dataDir = join(yield* testFolder, "data")
    const key = newSecret()
    const { startFrom, start, atoll } = yield* serviceIn(dataDir, key, {
      DATABASE_URL: url,
      ATOLL_SERVICE_ACCESS: "on"
    })
    const old = yield* startFrom(yield* sourcesOf(version))
    const granted = yield* atoll("credit", "grant", "--account", "default", "--usd", "5")
    assert.strictEqual(granted.code, 0, granted.stderr)
    const life = yield* Effect.promise(() => lived(old, key))
    const before = yield* Effect.promise(async () => {
      const here = client(old)
      return {
        told: await told(here, life),
        processes: await processesOf(here, life),
        counted: countedIn(await outputOf(here, life.count)),
        transactions: await here.get("/usage/transactions?limit=50")
      }
    })
    const ended = once(old.child, "exit")
    old.child.kill("SIGTERM")
    assert.deepStrictEqual(yield* Effect.promise(() => ended), [0, null], old.said())
    yield* Effect.promise(() => life.feed.until(() => life.feed.isOver))

    const young = yield* start
    yield* Effect.promise(async () => {
      const here = client(young)
      // A later version may add fields.
      expect(await told(here, life)).toMatchObject(before.told)
      assert.strictEqual(await processesOf(here, life), before.processes)
      if (life.preview !== null) {
        assert.strictEqual(await pageAt(young.port, life.preview.hostname), "200 of the one that runs\n")
      }
      const { capability } = await here.post(`${life.busy}/services/lookup`, life.access, life.accessKey)
      assert.strictEqual(capability, life.capability)
      const again = await here.post("/sandboxes", { ...life.made, name: "busy" }, "busy")
      assert.strictEqual(`/sandboxes/${again.sandbox.id}`, life.busy)

      // A reader of the feed resumes after the old one's last event, and gets every event from its beginning, each
      // once.
      await here.post(`${life.idle}/start?wait=running`)
      const { sandbox } = await untilSeen(
        () => here.get(life.idle),
        (seen) => seen.sandbox.status === "running"
      )
      assert.strictEqual(sandbox.generation, 2)
      const feeds = [life.begin, life.feed.lastEventId!].map(
        (after) => new EventClient(young.port, `/api/v2/events?after=${after}`, { authorization: `Bearer ${key}` })
      )
      const [whole, rest] = feeds as [EventClient, EventClient]
      const hasStarted = () =>
        rest.transitions.some(({ data }) => data.sandboxId === sandbox.id && data.to === "running")
      await rest.until(hasStarted)
      // What identifies a transition: a later version may add fields.
      const sorted = (...feeds: ReadonlyArray<EventClient>) =>
        feeds
          .flatMap(({ transitions }) => transitions.map(({ data }) => `${data.actorId} ${data.revision} ${data.to}`))
          .toSorted()
      await untilSeen(
        async () => [sorted(whole), sorted(life.feed, rest)] as const,
        ([all, parts]) => isDeepStrictEqual(all, parts)
      )
      assert.strictEqual(new Set(sorted(whole)).size, whole.transitions.length)
      for (const feed of feeds) feed.close()
      assert.strictEqual(
        await here.text(`${life.idle}/files/content?path=/workspace/note`),
        "of the one that is stopped\n"
      )

      await untilSeen(
        () => outputOf(here, life.count),
        (text) => countedIn(text) > before.counted + 50
      )
      await here.post(`${life.count}/cancel`)
      await untilSeen(
        () => here.get(life.count),
        ({ operation }) => operation.status === "cancelled"
      )
      countedIn(await outputOf(here, life.count))
      const { transactions } = await here.get("/usage/transactions?limit=50")
      const known: ReadonlyArray<Record<string, unknown>> = before.transactions.transactions
      const shown = transactions.slice(-known.length) as ReadonlyArray<Record<string, unknown>>
      // A later version may add fields.
      const asBefore = shown.map((it, at) =>
        Object.fromEntries(Object.keys(known[at] ?? {}).map((key) => [key, it[key]]))
      )
      assert.deepStrictEqual(asBefore, known)
    })
    const verified = yield* atoll("usage", "verify", "--json")
    assert.deepStrictEqual([verified.code, verified.stderr], [0, ""], verified.stdout)
    const { costMicroUsd, sandboxes, differencesCount } = JSON.parse(verified.stdout)
    assert.deepStrictEqual([sandboxes, differencesCount], [2, 0])
    assert.isAbove(Number(costMicroUsd), 0)
  }).pipe(Effect.scoped, Effect.provide(TestDatabase.empty))

/** Null unless it is the commit before, which has a test already. */
const sameObstacle = commitBeforeMigration.commit === commitBefore.commit ? "It is the commit before." : null

describe.skipIf(skipped(unusable))("an upgrade while Sandboxes run loses nothing", () => {
  it.live.skipIf(skipped(commitBefore.obstacle))("from the commit before", () => upgradeFrom(commitBefore), patienceMs)

  it.live.skipIf(skipped(commitBeforeMigration.obstacle ?? sameObstacle))(
    "from the last one with another database",
    () => upgradeFrom(commitBeforeMigration),
    patienceMs
  )
})
