/** The clock of the host is set, back or forward, under a service that runs. */
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Operations } from "../../../src/operation/Operations.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { Costs } from "../../../src/wallet/Costs.ts"
import { Ledger } from "../../../src/wallet/Ledger.ts"
import { UsageReports } from "../../../src/wallet/UsageReports.ts"
import { verifyUsage } from "../../../src/wallet/verify/verifyUsage.ts"
import { logFaults } from "../../support/ActorLogs.ts"
import { ShiftedClock } from "../../support/ShiftedClock.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { command, createIn, request, untilStatus } from "../../support/TestSandboxes.ts"

const anHourMs = 3_600_000
/** 64 vCPUs and 2 GiB cost 905 micro-USD a second. */
const dear = {
  ATOLL_SANDBOX_VCPUS: "64",
  ATOLL_SANDBOX_MEMORY_BYTES: String(2 * 1024 ** 3),
  ATOLL_CREDIT_GRACE_SECONDS: "0"
}

/** A running Sandbox of a prepaid account with so much credit. */
const running = Effect.fnUntraced(function* (microUsd: bigint) {
  const sql = yield* SqlClient.SqlClient
  const ledger = yield* Ledger
  const account = yield* newAccount
  const { accountId } = account
  yield* sql`update accounts set billing = 'prepaid', exhausted_at = 0 where id = ${accountId}`
  yield* ledger.grant({ accountId, kind: "purchase", microUsd, expiresAt: null, description: "test" })
  const { id } = (yield* createIn(account)).sandbox
  yield* untilStatus(accountId, id, "running")
  return { account, accountId, id }
})

layer(TestDatabase.layer, { excludeTestServices: true })("a clock that is set", (it) => {
  it.effect("back makes no wait longer than its client asked for", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const clock = new ShiftedClock()
      yield* Effect.gen(function* () {
        const operations = yield* Operations
        const { accountId, id } = yield* running(1_000_000n)
        const { operationId } = yield* Effect.map(
          operations.start(accountId, id, {
            ...request,
            idempotencyKey: "k",
            fingerprint: "f",
            request: { ...command, argv: ["hang"], timeoutSeconds: null }
          }),
          (operation) => ({ operationId: operation.id })
        )
        yield* Effect.repeat(operations.get(accountId, id, operationId), {
          until: ({ status }) => status === "running"
        })
        const wait = yield* Effect.forkChild(
          operations.wait(accountId, id, operationId, { timeoutSeconds: 1, stdoutOffset: null, stderrOffset: null })
        )
        yield* Effect.sleep(200)
        clock.shiftMs = -anHourMs
        const answer = yield* Effect.timeout(Fiber.join(wait), "60 seconds")
        assert.strictEqual(answer.status, "running")
      }).pipe(Effect.provide(testAtoll(world, dear)), Effect.provideService(Clock.Clock, clock))
    })
  )

  it.effect("back lets no command end before it began", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const clock = new ShiftedClock()
      yield* Effect.gen(function* () {
        const { accountId, id } = yield* running(1_000_000n)
        const asked = { ...command, argv: ["sleep", "1"], timeoutSeconds: 20 }
        const executing = yield* Effect.forkChild((yield* Operations).execute(accountId, id, asked, request))
        yield* Effect.sleep(300)
        clock.shiftMs = -anHourMs
        const { durationMs, startedAt, finishedAt } = yield* Fiber.join(executing)
        assert.isTrue(durationMs >= 900 && durationMs < 20_000, String(durationMs))
        assert.strictEqual(Date.parse(finishedAt) - Date.parse(startedAt), durationMs)
      }).pipe(Effect.provide(testAtoll(world, dear)), Effect.provideService(Clock.Clock, clock))
    })
  )

  it.effect("back keeps logs in order and books that agree, through every later action", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const clock = new ShiftedClock()
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ledger = yield* Ledger
        const sandboxes = yield* Sandboxes
        const { account, accountId, id } = yield* running(1_000_000n)
        yield* Effect.sleep(300)
        // Posted up to now: later postings lie before it.
        yield* ledger.settle(accountId)
        const before = clock.currentTimeMillisUnsafe()
        clock.shiftMs = -anHourMs
        yield* sandboxes.stop(accountId, id, request)
        yield* untilStatus(accountId, id, "stopped")
        yield* sandboxes.start(accountId, id, { ...request, idempotencyKey: null })
        const other = (yield* createIn(account, "another")).sandbox.id
        yield* untilStatus(accountId, other, "running")
        yield* Effect.sleep(100)
        yield* ledger.settle(accountId)
        const live = yield* ledger.balance(accountId)
        assert.isTrue(live.balanceMicroUsd > 0n && live.balanceMicroUsd <= 1_000_000n, String(live.balanceMicroUsd))
        yield* sandboxes.remove(accountId, id, request)
        yield* untilStatus(accountId, id, "deleted")
        yield* sandboxes.remove(accountId, other, request)
        yield* untilStatus(accountId, other, "deleted")
        yield* Effect.all([ledger.foldSandbox(id), ledger.foldSandbox(other)])

        assert.deepStrictEqual((yield* verifyUsage(sql, accountId)).differences, [])
        assert.deepStrictEqual(yield* logFaults, [])
        const backwards = yield* sql`
          select actor_id, revision from (
            select actor_id, revision, at, lag(at) over (partition by actor_id order by revision) as last from transitions) as log
          where at < last`
        assert.deepStrictEqual(backwards, [])
        // Both clocks' hours are in it.
        const window = { from: before - 2 * anHourMs, to: before + anHourMs }
        const { totalMicroUsd } = yield* (yield* Costs).read(accountId, {
          ...window,
          groupBy: "sandbox",
          sandboxId: null
        })
        const { balanceMicroUsd } = yield* ledger.balance(accountId)
        assert.strictEqual(totalMicroUsd, 1_000_000n - balanceMicroUsd)
        const { sandboxMs } = yield* (yield* UsageReports).read(accountId, window)
        assert.isTrue(sandboxMs >= 0n)
      }).pipe(Effect.provide(testAtoll(world, dear)), Effect.provideService(Clock.Clock, clock))
    })
  )

  it.effect("forward stops a Sandbox at the end of its credit without a wait for the skipped time", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const clock = new ShiftedClock()
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        // Half a minute: its timer is set.
        const { accountId, id } = yield* running(27_000n)
        const left = Effect.map(
          sql<{ readonly at: number | null }>`
            select due_at::float8 as at from actors where kind = 'wallet' and account_id = ${accountId}`,
          ([row]) => (row?.at ?? 0) - clock.currentTimeMillisUnsafe()
        )
        yield* Effect.repeat(left, { until: (ms) => ms > 20_000 && ms < 60_000 })
        yield* Effect.sleep(300)
        assert.strictEqual((yield* (yield* Sandboxes).get(accountId, id)).status, "running")
        clock.shiftMs = 60_000
        const stopped = yield* Effect.timeout(untilStatus(accountId, id, "stopped"), "25 seconds")
        assert.strictEqual(stopped.statusReason?.code, "CREDIT_EXHAUSTED")
      }).pipe(Effect.provide(testAtoll(world, dear)), Effect.provideService(Clock.Clock, clock))
    })
  )
})
