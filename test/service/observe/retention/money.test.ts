/** The running service forgets every resource as soon as it may; usage and costs stay. */
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { insertSamples } from "../../../../src/observe/analytics/TelemetrySamples.ts"
import { Operations } from "../../../../src/operation/Operations.ts"
import { Sandboxes } from "../../../../src/sandbox/Sandboxes.ts"
import { ExecutionLog } from "../../../../src/store/ExecutionLog.ts"
import { Costs } from "../../../../src/wallet/Costs.ts"
import { Ledger } from "../../../../src/wallet/Ledger.ts"
import { Transactions } from "../../../../src/wallet/Transactions.ts"
import { UsageReports } from "../../../../src/wallet/UsageReports.ts"
import { verifyUsage } from "../../../../src/wallet/verify/verifyUsage.ts"
import { ShiftedClock } from "../../../support/ShiftedClock.ts"
import { newAccount, testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { command, createIn, request, untilStatus } from "../../../support/TestSandboxes.ts"

const dayMs = 86_400_000

const measured = { cpuSeconds: 0.5, memoryBytes: 1, volumeBytes: 1, networkRxBytes: null, networkTxBytes: null }

/** And expensive: 64 vCPUs cost 896 micro-USD a second. */
const shortest = {
  ATOLL_SANDBOX_VCPUS: "64",
  ATOLL_RETENTION_DAYS: "1",
  ATOLL_ENDED_RETENTION_DAYS: "1",
  ATOLL_PRUNE_INTERVAL_MS: "500"
}

layer(TestDatabase.layer, { excludeTestServices: true })("retention at its shortest", (it) => {
  it.effect("forgets Sandboxes with their logs, and leaves usage, costs, wallet and books as they were", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const clock = new ShiftedClock()
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ledger = yield* Ledger
        const operations = yield* Operations
        const sandboxes = yield* Sandboxes
        const account = yield* newAccount
        const { accountId } = account
        const [costs, transactions, usage] = [yield* Costs, yield* Transactions, yield* UsageReports]
        const begin = clock.currentTimeMillisUnsafe()
        yield* sql`update accounts set billing = 'prepaid', exhausted_at = 0 where id = ${accountId}`
        const grant = {
          accountId,
          kind: "purchase",
          microUsd: 1_000_000n,
          expiresAt: null,
          description: "test"
        } as const
        yield* ledger.grant(grant)
        const lives = ["one", "two"].map((key) =>
          Effect.gen(function* () {
            const { id } = (yield* createIn(account, key)).sandbox
            yield* untilStatus(accountId, id, "running")
            yield* operations.execute(accountId, id, { ...command, argv: ["echo", "a"], timeoutSeconds: 20 }, request)
            const operation = yield* operations.start(accountId, id, {
              ...request,
              idempotencyKey: key,
              fingerprint: "f",
              request: { ...command, argv: ["echo", "b"], timeoutSeconds: null }
            })
            yield* Effect.repeat(operations.get(accountId, id, operation.id), {
              schedule: Schedule.spaced(5),
              until: ({ status }) => status === "completed"
            })
            // Simulated machines are not measured.
            yield* insertSamples(sql, clock.currentTimeMillisUnsafe(), [{ id, accountId, generation: 1, measured }])
            yield* sandboxes.remove(accountId, id, request)
            yield* untilStatus(accountId, id, "deleted")
            yield* ledger.foldSandbox(id)
            return id
          })
        )
        const ids = yield* Effect.all(lives, { concurrency: 2 })
        yield* (yield* ExecutionLog).write

        const seen = Effect.gen(function* () {
          // Whole hours: for part of an hour, only the hour's sum remains once its rows are gone.
          const window = { from: begin - (begin % 3_600_000), to: begin - (begin % 3_600_000) + 3_600_000 * 2 }
          const { asOf: _, ...used } = yield* usage.read(accountId, window)
          const by = yield* Effect.forEach(["sandbox", "day", "workspace"] as const, (groupBy) =>
            Effect.map(costs.read(accountId, { ...window, groupBy, sandboxId: null }), ({ costs, totalMicroUsd }) => ({
              costs,
              totalMicroUsd
            }))
          )
          const entries = yield* transactions.list(accountId, { limit: 100, before: null })
          const { balanceMicroUsd, grants } = yield* ledger.balance(accountId)
          const { differences, costMicroUsd } = yield* verifyUsage(sql, accountId)
          assert.deepStrictEqual(differences, [])
          return { used, by, entries, balanceMicroUsd, grants, costMicroUsd }
        })
        clock.shiftMs = 3 * 3_600_000
        const before = yield* seen
        assert.deepInclude(before.used, { operations: 2, executes: 2 })
        assert.strictEqual(before.used.cpuUs, 1_000_000n)
        assert.isTrue(before.costMicroUsd > 0n)
        assert.strictEqual(before.costMicroUsd, 1_000_000n - before.balanceMicroUsd)
        for (const { totalMicroUsd } of before.by) assert.strictEqual(totalMicroUsd, before.costMicroUsd)

        clock.shiftMs = 3 * dayMs
        const left = sql<{ readonly rows: number }>`
          select (select count(*) from actors where sandbox_id in ${sql.in(ids)}) + (select count(*) from transitions where actor_id in ${sql.in(ids)})
               + (select count(*) from telemetry_samples where sandbox_id in ${sql.in(ids)}) + (select count(*) from executions where sandbox_id in ${sql.in(ids)})
               + (select count(*) from output_chunks where sandbox_id in ${sql.in(ids)}) + (select count(*) from idempotency_keys where account_id = ${accountId})
                 as rows`
        yield* Effect.repeat(Effect.delay(left, 50), { until: ([row]) => Number(row!.rows) === 0 }).pipe(
          Effect.timeout("20 seconds")
        )
        const after = yield* seen
        assert.deepStrictEqual(after, before)
        assert.strictEqual((yield* verifyUsage(sql, accountId)).prunedSandboxes, 2)
      }).pipe(Effect.provide(testAtoll(world, shortest)), Effect.provideService(Clock.Clock, clock))
    })
  )
})
