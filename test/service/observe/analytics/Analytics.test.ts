import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { Analytics } from "../../../../src/observe/analytics/Analytics.ts"
import { Sandboxes } from "../../../../src/sandbox/Sandboxes.ts"
import { fillColumns } from "../../../support/derivedColumns.ts"
import { rowsRead, settle } from "../../../support/rowsRead.ts"
import { newAccount, testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const minute = 60_000
/** A whole minute, so that buckets are easy to name. */
const begin = 1_800_000_000_000 - (1_800_000_000_000 % minute)

const sandboxOf = Effect.fnUntraced(function* () {
  const account = yield* newAccount
  const sandboxes = yield* Sandboxes
  const { sandbox } = yield* sandboxes.create({
    accountId: account.accountId,
    requestId: "req_test",
    idempotencyKey: "k",
    fingerprint: "f",
    request: {
      workspaceId: account.workspaceId,
      name: null,
      networkEnabled: false,
      metadata: {},
      env: {},
      lifetime: null
    }
  })
  return { accountId: account.accountId, id: sandbox.id }
})

const sample = (id: string, generation: number, at: number, cpu: number | null, memory: number | null) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      insert into telemetry_samples (sandbox_id, generation, at, cpu_seconds, memory_bytes)
      values (${id}, ${generation}, ${BigInt(at)}, ${cpu}, ${memory === null ? null : BigInt(memory)})`
  )

const world = Layer.unwrap(
  Effect.map(SimulatedWorld.make, (made) => testAtoll(made, { ATOLL_ANALYTICS_REQUESTS_PER_MINUTE: "5" }))
)

layer(world.pipe(Layer.provideMerge(TestDatabase.layer)), { excludeTestServices: true })("Analytics", (it) => {
  it.effect("puts counters into buckets by growth, across boots, and null where nothing was measured", () =>
    Effect.gen(function* () {
      const analytics = yield* Analytics
      const { accountId, id } = yield* sandboxOf()
      yield* sample(id, 1, begin - 10_000, 4, 100)
      yield* sample(id, 1, begin + 5000, 5, 100)
      yield* sample(id, 1, begin + 20_000, 5, 300)
      // A new boot counts from zero again.
      yield* sample(id, 2, begin + 2 * minute, 0.5, 50)
      yield* sample(id, 2, begin + 2 * minute + 15_000, null, null)
      yield* sample(id, 2, begin + 3 * minute, null, 70)
      // A missing measurement does not count as zero.
      yield* sample(id, 2, begin + 4 * minute, 0.75, null)
      const answer = yield* analytics.read(accountId, id, {
        from: begin,
        to: begin + 5 * minute,
        resolutionSeconds: 60,
        generation: null
      })
      assert.deepStrictEqual(
        answer.resources.samples.map(({ cpuSeconds, memoryBytes, volumeBytes }) => [
          cpuSeconds,
          memoryBytes,
          volumeBytes
        ]),
        [
          [1, 200, null],
          [null, null, null],
          [0.5, 50, null],
          [null, 70, null],
          [0.25, null, null]
        ]
      )
      const later = yield* analytics.read(accountId, id, {
        from: begin + 4 * minute,
        to: begin + 5 * minute,
        resolutionSeconds: 60,
        generation: null
      })
      assert.strictEqual(later.resources.samples[0]!.cpuSeconds, 0.25)
      const one = yield* analytics.read(accountId, id, {
        from: begin,
        to: begin + minute,
        resolutionSeconds: 60,
        generation: 2
      })
      assert.deepStrictEqual(one.resources.samples[0]!.cpuSeconds, null)
    })
  )

  it.effect("refuses more than 2,000 samples and an empty window", () =>
    Effect.gen(function* () {
      const analytics = yield* Analytics
      const { accountId, id } = yield* sandboxOf()
      const read = (from: number, to: number) =>
        Effect.result(analytics.read(accountId, id, { from, to, resolutionSeconds: 60, generation: null }))
      assert.strictEqual((yield* read(begin, begin + 2000 * minute))._tag, "Success")
      const tooMany = yield* read(begin, begin + 2000 * minute + 1)
      assert.isTrue(tooMany._tag === "Failure" && tooMany.failure._tag === "INVALID_REQUEST")
      const empty = yield* read(begin, begin)
      assert.isTrue(empty._tag === "Failure" && empty.failure._tag === "INVALID_REQUEST")
    })
  )

  it.effect("reads the last 24 hours by default", () =>
    Effect.gen(function* () {
      const analytics = yield* Analytics
      const { accountId, id } = yield* sandboxOf()
      const read = { from: null, to: null, resolutionSeconds: 300, generation: null }
      const { from, to } = yield* analytics.read(accountId, id, read)
      assert.strictEqual(Date.parse(to) - Date.parse(from), 24 * 60 * minute)
    })
  )

  it.effect("finds no boots for a generation beyond the last", () =>
    Effect.gen(function* () {
      const analytics = yield* Analytics
      const { accountId, id } = yield* sandboxOf()
      for (const generation of [2 ** 31, Number.MAX_SAFE_INTEGER]) {
        const answer = yield* analytics.read(accountId, id, {
          from: null,
          to: null,
          resolutionSeconds: 300,
          generation
        })
        assert.deepStrictEqual([answer.generation, answer.lifecycle.boots], [generation, 0])
      }
    })
  )

  it.effect("names the fault of a request before it looks for the Sandbox, and does not count the request", () =>
    Effect.gen(function* () {
      const analytics = yield* Analytics
      const { accountId, id } = yield* sandboxOf()
      const read = (sandboxId: string, to: number) =>
        Effect.result(
          analytics.read(accountId, sandboxId, { from: begin, to, resolutionSeconds: 60, generation: null })
        )
      for (let at = 0; at < 12; at++) {
        const refused = yield* read(at % 2 === 0 ? id : "sbx_00000000000000000000000000", begin)
        assert.isTrue(refused._tag === "Failure" && refused.failure._tag === "INVALID_REQUEST")
      }
      assert.strictEqual((yield* read(id, begin + minute))._tag, "Success")
    })
  )

  it.effect("limits the requests a minute of a whole account, exactly, even concurrent ones", () =>
    Effect.gen(function* () {
      const analytics = yield* Analytics
      const { accountId, id } = yield* sandboxOf()
      const results = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () =>
          Effect.result(
            analytics.read(accountId, id, { from: begin, to: begin + minute, resolutionSeconds: 60, generation: null })
          ),
        { concurrency: "unbounded" }
      )
      const refused = results.flatMap((result) => (result._tag === "Failure" ? [result.failure] : []))
      // The minute may end in the middle of the twenty: then twice as many pass.
      assert.isTrue(refused.length === 15 || refused.length === 10, `${refused.length} refused`)
      for (const error of refused) {
        assert.isTrue(
          error._tag === "RATE_LIMITED" && error.details.retryAfterSeconds >= 1 && error.details.retryAfterSeconds <= 60
        )
      }
    })
  )

  it.effect("does not count requests from before the clock was set back", () =>
    Effect.gen(function* () {
      const analytics = yield* Analytics
      const sql = yield* SqlClient.SqlClient
      const { accountId, id } = yield* sandboxOf()
      const read = Effect.result(
        analytics.read(accountId, id, { from: begin, to: begin + minute, resolutionSeconds: 60, generation: null })
      )
      yield* read
      yield* sql`update rate_windows set requests = 5, window_start = window_start + 3600000 where account_id = ${accountId}`
      assert.strictEqual((yield* read)._tag, "Success")
    })
  )

  it.effect("does not show another account's Sandbox", () =>
    Effect.gen(function* () {
      const analytics = yield* Analytics
      const { id } = yield* sandboxOf()
      const other = yield* newAccount
      const seen = yield* Effect.result(
        analytics.read(other.accountId, id, { from: null, to: null, resolutionSeconds: 300, generation: null })
      )
      assert.isTrue(seen._tag === "Failure" && seen.failure._tag === "NOT_FOUND")
    })
  )

  it.effect("counts operations by their begin and end, without reading their records", () =>
    Effect.gen(function* () {
      const analytics = yield* Analytics
      const sql = yield* SqlClient.SqlClient
      const { accountId, id } = yield* sandboxOf()
      const insert = (
        name: string,
        count: number,
        value: string,
        generation: number,
        startedAt: number | null,
        finishedAt: number | null
      ) => sql`
        insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, due_at, created_at)
        select ${id} || ${name} || n, 'operation', ${accountId}, ${id}, 1, 1, '{}', jsonb_build_object('value', ${value}::text, 'context',
          jsonb_build_object('generation', ${generation}::int4, 'startedAt', ${startedAt}::float8, 'finishedAt', ${finishedAt}::float8)),
          case when ${finishedAt}::float8 is null then 9000000000000000 end, 1
        from generate_series(1, ${count}::int4) n`
      const to = begin + minute
      yield* insert("done", 3000, "completed", 1, begin + 1000, begin + 1500)
      yield* insert("slow", 40, "completed", 1, begin + 1000, begin + 11_000)
      yield* insert("earlier", 7, "completed", 1, begin - 500, begin + 500)
      yield* insert("later", 5, "completed", 1, to - 1, to)
      yield* insert("before", 9, "completed", 1, begin - 2000, begin - 1)
      yield* insert("after", 9, "completed", 1, to, to + 1)
      yield* insert("cancelled", 2, "cancelled", 1, begin, begin + 1)
      yield* insert("refused", 3, "failed", 1, null, begin + 1)
      yield* insert("open", 4, "running", 1, begin + 5, null)
      yield* insert("queued", 4, "queued", 1, null, null)
      yield* insert("second", 6, "completed", 2, begin + 1, begin + 2)
      yield* fillColumns
      yield* settle("actors")
      const read = (generation: number | null) =>
        rowsRead("actors", analytics.read(accountId, id, { from: begin, to, resolutionSeconds: 60, generation }))
      const { result, rows } = yield* read(1)
      assert.deepStrictEqual(result.operations, {
        started: 3000 + 40 + 5 + 2 + 4,
        completed: 3000 + 40 + 7,
        cancelled: 2,
        failed: 3,
        executeCount: 0,
        medianDurationMs: 500,
        p99DurationMs: 10_000
      })
      assert.isBelow(rows, 200)
      assert.strictEqual((yield* read(2)).result.operations.completed, 6)
      assert.strictEqual((yield* read(null)).result.operations.completed, 3000 + 40 + 7 + 6)
    })
  )

  it.effect("reads for a past window only its own rows, however many are after and before it", () =>
    Effect.gen(function* () {
      const analytics = yield* Analytics
      const sql = yield* SqlClient.SqlClient
      const { accountId, id } = yield* sandboxOf()
      // Each lasts a second and a half, and one begins each second.
      const operations = (name: string, count: number, first: number) => sql`
        insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
        select ${id} || ${name} || n, 'operation', ${accountId}, ${id}, 1, 1, '{}', jsonb_build_object('value', 'completed', 'context',
          jsonb_build_object('generation', 1, 'startedAt', ${first}::float8 + n * 1000, 'finishedAt', ${first}::float8 + n * 1000 + 1500)), 1
        from generate_series(0, ${count - 1}::int4) n`
      const samples = (count: number, first: number) => sql`
        insert into telemetry_samples (sandbox_id, generation, at, cpu_seconds)
        select ${id}, 1, ${BigInt(first)}::int8 + n * 1000, (${BigInt(first - begin)}::int8 + n * 1000) / 1000.0 + 100000
        from generate_series(0, ${count - 1}::int4) n`
      const read = Effect.gen(function* () {
        yield* fillColumns
        yield* settle("actors")
        yield* settle("telemetry_samples")
        const window = { from: begin, to: begin + minute, resolutionSeconds: 60, generation: null }
        const ofActors = yield* rowsRead("actors", analytics.read(accountId, id, window))
        const ofSamples = yield* rowsRead("telemetry_samples", analytics.read(accountId, id, window))
        const { started, completed } = ofActors.result.operations
        const { cpuSeconds } = ofActors.result.resources.samples[0]!
        assert.deepStrictEqual([started, completed, cpuSeconds], [60, 60, 60])
        return { actors: ofActors.blocks, samples: ofSamples.blocks, sampleRows: ofSamples.rows }
      })
      yield* operations("in", 62, begin - 2000)
      yield* samples(62, begin - 2000)
      const before = yield* read
      yield* operations("after", 20_000, begin + minute)
      yield* operations("before", 20_000, begin - 30_000_000)
      yield* samples(20_000, begin + minute)
      yield* samples(20_000, begin - 30_000_000)
      const after = yield* read
      assert.isAtMost(after.actors, before.actors + 20)
      assert.isAtMost(after.samples, before.samples + 20)
      assert.isAtMost(after.sampleRows, before.sampleRows + 100)
    })
  )

  it.effect("gives the median and the 99th percentile of operations and executes together, interpolated", () =>
    Effect.gen(function* () {
      const analytics = yield* Analytics
      const sql = yield* SqlClient.SqlClient
      const { accountId, id } = yield* sandboxOf()
      const read = Effect.map(
        analytics.read(accountId, id, { from: begin, to: begin + minute, resolutionSeconds: 60, generation: null }),
        ({ operations }) => operations
      )
      assert.deepInclude(yield* read, { started: 0, executeCount: 0, medianDurationMs: null, p99DurationMs: null })
      // Some of them still wait for the end of their tree.
      yield* sql`
        insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, due_at, created_at)
        select ${id} || n, 'operation', ${accountId}, ${id}, 1, 1, '{}', jsonb_build_object('value', 'completed', 'context',
          jsonb_build_object('generation', 1, 'startedAt', ${begin}::float8, 'finishedAt', ${begin}::float8 + n * n % 37)),
          case when n % 2 = 0 then 9000000000000000 end, 1
        from generate_series(1, 61) n`
      yield* fillColumns
      yield* sql`
        insert into executions (id, account_id, sandbox_id, generation, started_at, finished_at, timed_out)
        select ${id} || n, ${accountId}, ${id}, 1, ${BigInt(begin)}::int8, ${BigInt(begin)}::int8 + n * 7, false from generate_series(1, 21) n`
      const [wanted] = yield* sql<{ readonly at: ReadonlyArray<number> }>`
        select percentile_cont(array[0.5, 0.99]) within group (order by ms::float8) as at from (
          select n * n % 37 as ms from generate_series(1, 61) n union all select n * 7 from generate_series(1, 21) n) as each`
      const { started, completed, executeCount, medianDurationMs, p99DurationMs } = yield* read
      assert.deepStrictEqual([started, completed, executeCount], [61, 61, 21])
      assert.closeTo(medianDurationMs!, wanted!.at[0]!, 1e-6)
      assert.closeTo(p99DurationMs!, wanted!.at[1]!, 1e-6)
    })
  )
})
