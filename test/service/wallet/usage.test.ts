/**
 * What the account's usage counts: CPU time, operations and executes, in windows that cut hours, before and after
 * retention has forgotten the rows.
 */
import { randomUUID } from "node:crypto"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { insertSamples } from "../../../src/observe/analytics/TelemetrySamples.ts"
import { prune } from "../../../src/observe/retention/Pruner.ts"
import { newId, newOperationId } from "../../../src/platform/identifier/newId.ts"
import { ExecutionLog } from "../../../src/store/ExecutionLog.ts"
import { migrate, migrations } from "../../../src/store/Migrations.ts"
import { Ledger } from "../../../src/wallet/Ledger.ts"
import { UsageReports } from "../../../src/wallet/UsageReports.ts"
import { fillColumns } from "../../support/derivedColumns.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
/** Older than every retention, on the hour. */
const begin = Math.floor((Date.now() - 60 * day) / hour) * hour

const settings = testSettings({ ATOLL_RETENTION_DAYS: "7", ATOLL_ENDED_RETENTION_DAYS: "30" })

const pruned = prune().pipe(Effect.provide(settings))

const read = (accountId: string, from: number, to: number) =>
  Effect.flatMap(UsageReports, (reports) => reports.read(accountId, { from, to }))

/** The figures of each window between these instants. */
const figures = (accountId: string, ...cuts: ReadonlyArray<number>) =>
  Effect.forEach(cuts.slice(1), (to, i) =>
    Effect.map(read(accountId, cuts[i]!, to), ({ cpuUs, operations, executes }) => [
      cpuUs === null ? null : Number(cpuUs) / 1e6,
      operations,
      executes
    ])
  )

const newSandbox = Effect.fnUntraced(function* (
  accountId: string,
  status = "running",
  deletedAt: number | null = null
) {
  const sql = yield* SqlClient.SqlClient
  const id = newId("sbx_")
  const input = { name: null, profile: { vcpus: 1, memoryBytes: 1, diskBytes: 1 } }
  const snapshot = { value: status, context: { workspaceId: "wsp_1", deletedAt } }
  yield* sql`insert into accounts (id, name, created_at) values (${accountId}, ${accountId}, 0) on conflict do nothing`
  yield* sql`
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
    values (${id}, 'sandbox', ${accountId}, ${id}, 1, 1, ${JSON.stringify(input)}::jsonb, ${JSON.stringify(snapshot)}::jsonb, 1)`
  yield* fillColumns
  return id
})

const measured = (cpuSeconds: number | null) => ({
  cpuSeconds,
  memoryBytes: 1,
  volumeBytes: null,
  networkRxBytes: null,
  networkTxBytes: null
})

const sample = (accountId: string, id: string, generation: number, at: number, cpuSeconds: number | null) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    insertSamples(sql, at, [{ id, accountId, generation, measured: measured(cpuSeconds) }])
  )

const operation = Effect.fnUntraced(function* (
  accountId: string,
  sandboxId: string,
  at: number,
  finishedAt: number | null
) {
  const sql = yield* SqlClient.SqlClient
  const id = newOperationId()
  yield* sql`
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, due_at, created_at)
    values (${id}, 'operation', ${accountId}, ${sandboxId}, 1, 1, '{}'::jsonb,
      ${JSON.stringify({ value: finishedAt === null ? "running" : "failed", context: { finishedAt, startedAt: null } })}::jsonb,
      ${finishedAt === null ? 9_000_000_000_000n : null}, ${BigInt(at)})`
  yield* fillColumns
})

const execute = (accountId: string, sandboxId: string, at: number, finishedAt: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      insert into executions (id, account_id, sandbox_id, generation, started_at, finished_at, timed_out)
      values (${randomUUID()}, ${accountId}, ${sandboxId}, 1, ${BigInt(at)}, ${BigInt(finishedAt)}, false)`
  )

const left = Effect.fnUntraced(function* (accountId: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ operations: number; executes: number; samples: number }>`
    select (select count(*) from actors where kind = 'operation' and account_id = ${accountId})::int4 as operations,
           (select count(*) from executions where account_id = ${accountId})::int4 as executes,
           (select count(*) from telemetry_samples where account_id = ${accountId})::int4 as samples`
  return row!
})

const reports = UsageReports.layer.pipe(
  Layer.provide(ExecutionLog.layer),
  Layer.provideMerge(Ledger.layer),
  Layer.provide(testSettings())
)

layer(reports.pipe(Layer.provideMerge(TestDatabase.layer)), { excludeTestServices: true })("usage", (it) => {
  it.effect("has the CPU time as the growth of each boot's counter, where it was measured, in any window", () =>
    Effect.gen(function* () {
      const [account, other] = [newId("acc_"), newId("acc_")]
      const [one, two] = [yield* newSandbox(account), yield* newSandbox(account)]
      const theirs = yield* newSandbox(other)
      yield* sample(account, one, 1, begin + 10 * minute, 4)
      yield* sample(account, one, 1, begin + 20 * minute, 5.5)
      yield* sample(account, two, 3, begin + 20 * minute, 0.25)
      yield* sample(account, one, 1, begin + 30 * minute, null)
      yield* sample(account, one, 1, begin + 90 * minute, 6)
      // A new boot counts from zero again; a counter that went back did not grow.
      yield* sample(account, one, 2, begin + 100 * minute, 0.5)
      yield* sample(account, one, 2, begin + 110 * minute, 0.25)
      yield* sample(other, theirs, 1, begin + 20 * minute, 1000)
      // A second process that measured the same instant.
      yield* sample(account, one, 2, begin + 110 * minute, 7)

      const expected = [4, 1.75, null, 1, 0]
      const cuts = [0, 20, 21, 40, 110, 300].map((minutes) => begin + minutes * minute)
      const cpu = Effect.fnUntraced(function* (...at: ReadonlyArray<number>) {
        return (yield* figures(account, ...at)).map(([seconds]) => seconds)
      })
      assert.deepStrictEqual(yield* cpu(...cuts), expected)
      assert.deepStrictEqual(yield* cpu(begin, begin + day), [6.75])
      assert.deepStrictEqual(yield* cpu(begin - day, begin), [null])
      assert.deepStrictEqual(yield* cpu(begin + hour, begin + 2 * hour), [1])
      assert.deepStrictEqual(yield* figures(other, begin, begin + day), [[1000, 0, 0]])
    })
  )

  it.effect("limits a CPU time beyond all counting to its own account", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [account, other] = [newId("acc_"), newId("acc_")]
      const one = yield* newSandbox(account)
      const theirs = yield* newSandbox(other)
      const lies = Array.from({ length: 100 }, (_, i) => ({
        ...{ id: `${one}${i}`, accountId: account, generation: 1 },
        measured: measured(1e11)
      }))
      const truth = (cpuSeconds: number) => ({
        ...{ id: theirs, accountId: other, generation: 1 },
        measured: measured(cpuSeconds)
      })
      yield* insertSamples(sql, begin + minute, [...lies, truth(4)])
      const again = lies.map((lie) => ({ ...lie, generation: 2 }))
      yield* insertSamples(sql, begin + 2 * minute, [...again, truth(6)])
      const found = yield* sql`
        select cpu_us::text as us from usage_hours where account_id = any(${[account, other]}) order by cpu_us`
      assert.deepStrictEqual(found, [{ us: "6000000" }, { us: "9000000000000000000" }])
    })
  )

  it.effect("keeps counting what retention forgot: whole hours unchanged, and parts still add up", () =>
    Effect.gen(function* () {
      const account = newId("acc_")
      const id = yield* newSandbox(account)
      yield* sample(account, id, 1, begin + 10 * minute, 4)
      yield* sample(account, id, 1, begin + 50 * minute, 5)
      yield* sample(account, id, 1, begin + 90 * minute, 7)
      for (const at of [0, 59 * minute, hour, hour + 1]) {
        yield* operation(account, id, begin + at, begin + at + 1)
        yield* execute(account, id, begin + at, begin + 3 * hour)
        yield* execute(account, id, begin + at + 1, begin + 3 * hour)
      }
      // Not done yet, or not old enough.
      yield* operation(account, id, begin, null)
      yield* operation(account, id, begin, Date.now())
      yield* execute(account, id, begin, Date.now())
      const hours = [begin, begin + hour, begin + 2 * hour]
      const parts = [begin, begin + 30 * minute, begin + hour, begin + 80 * minute, begin + 2 * hour]
      const before = yield* figures(account, ...hours)
      assert.deepStrictEqual(before, [
        [5, 4, 5],
        [2, 2, 4]
      ])
      assert.deepStrictEqual(yield* figures(account, ...parts), [
        [4, 3, 3],
        [1, 1, 2],
        [null, 2, 4],
        [2, 0, 0]
      ])

      yield* Effect.all([pruned, pruned, pruned], { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* left(account), { operations: 2, executes: 1, samples: 1 })
      assert.deepStrictEqual(yield* figures(account, ...hours), before)
      // A forgotten hour counts in the window that has its begin; a remembered one counts at its instants.
      assert.deepStrictEqual(yield* figures(account, ...parts), [
        [5, 4, 5],
        [null, 0, 0],
        [null, 2, 4],
        [2, 0, 0]
      ])

      // The counter went on while nothing was measured, and its last value is still known.
      yield* sample(account, id, 1, begin + 5 * hour, 7.5)
      assert.deepStrictEqual(yield* figures(account, begin + 5 * hour, begin + 6 * hour), [[0.5, 0, 0]])
    })
  )

  it.effect("also keeps counting a Sandbox that was deleted long ago", () =>
    Effect.gen(function* () {
      const account = newId("acc_")
      const id = yield* newSandbox(account, "deleted", begin + 3 * hour)
      yield* sample(account, id, 1, begin + 10 * minute, 4)
      yield* operation(account, id, begin + 70 * minute, begin + 71 * minute)
      yield* execute(account, id, begin + 70 * minute, begin + 71 * minute)
      // It ended after it: its outcome was unknown for long.
      yield* execute(account, id, begin + 70 * minute, Date.now())
      const before = yield* figures(account, begin, begin + hour, begin + 2 * hour)
      assert.deepStrictEqual(before, [
        [4, 0, 0],
        [null, 1, 2]
      ])
      yield* pruned
      assert.deepStrictEqual(yield* left(account), { operations: 0, executes: 0, samples: 0 })
      assert.deepStrictEqual(yield* figures(account, begin, begin + hour, begin + 2 * hour), before)
    })
  )
})

describe("usage from before it was counted", () => {
  it.live("is counted by the hour, each boot from zero, and goes on from there", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const until = (last: string) => Object.fromEntries(Object.entries(migrations).filter(([name]) => name <= last))
      yield* migrate(until("0033_heartbeat"))
      const account = newId("acc_")
      const id = yield* newSandbox(account)
      for (const [at, generation, cpuSeconds] of [
        [10, 1, 4],
        [50, 1, 5],
        [55, 1, null],
        [70, 1, 7],
        [80, 2, 0.5],
        [90, 2, 0.25]
      ] as const) {
        yield* sql`
          insert into telemetry_samples (sandbox_id, generation, at, cpu_seconds) values (${id}, ${generation}, ${BigInt(begin + at * minute)}, ${cpuSeconds})`
      }
      assert.include(yield* migrate(migrations), "0034_usage_hours")
      yield* sample(account, id, 2, begin + 100 * minute, 1.25)
      const cuts = [0, 30, 60, 95, 120].map((minutes) => begin + minutes * minute)
      assert.deepStrictEqual(yield* figures(account, ...cuts), [
        [5, 0, 0],
        [null, 0, 0],
        [2.5, 0, 0],
        [1, 0, 0]
      ])
    }).pipe(Effect.provide(reports.pipe(Layer.provideMerge(TestDatabase.layerEmpty))))
  )
})
