/**
 * The wallet's actor in the running service: exhaustion at its instant, the grace, suspension, outbox rows, and
 * everything that these leave alone.
 */
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { WalletContext } from "../../../schemas/contexts/Wallet.ts"
import { Accounts } from "../../../src/account/Accounts.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Operations } from "../../../src/operation/Operations.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { Journal } from "../../../src/store/Journal.ts"
import firstWallets from "../../../src/store/migrations/0036_first_wallets.ts"
import { Ledger } from "../../../src/wallet/Ledger.ts"
import { logFaults } from "../../support/ActorLogs.ts"
import { rowsRead, settle } from "../../support/rowsRead.ts"
import { ShiftedClock } from "../../support/ShiftedClock.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { command, createIn, request, untilStatus } from "../../support/TestSandboxes.ts"

/** Deadlines fire late on a busy machine, and never early. */
const lateMs = 15_000

/** A plan that is recomputed later rounds elsewhere. */
const roundedMs = 50

const noGrace = { ATOLL_CREDIT_GRACE_SECONDS: "0" }

const prepaid = Effect.gen(function* () {
  const account = yield* newAccount
  const sql = yield* SqlClient.SqlClient
  yield* sql`update accounts set billing = 'prepaid', exhausted_at = 0 where id = ${account.accountId}`
  return account
})

const grant = (accountId: string, microUsd: number) =>
  Effect.flatMap(Ledger, (ledger) =>
    ledger.grant({ accountId, kind: "purchase", microUsd: BigInt(microUsd), expiresAt: null, description: "test" })
  )

interface Row {
  readonly status: string
  readonly context: WalletContext
  readonly pending: number
  readonly due_at: number | null
}

const walletOf = (accountId: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<Row>`
      select status, snapshot -> 'context' as context, jsonb_array_length(pending) as pending, due_at::float8 as due_at
      from actors where kind = 'wallet' and account_id = ${accountId}`
  ).pipe(
    Effect.orDie,
    Effect.map(([row]) => row ?? null)
  )

const untilWallet = (accountId: string, holds: (row: Row) => boolean) =>
  Effect.repeat(Effect.delay(walletOf(accountId), 5), { until: (row) => row !== null && holds(row) }).pipe(
    Effect.map((row) => row!),
    Effect.timeout(60_000)
  )

/** Nothing is due immediately, either. */
const isAtRest = ({ context, pending, due_at }: Row) =>
  !context.isReckoning && !context.isStale && pending === 0 && (due_at === null || due_at > context.reckonedAt!)

/** Soon, not immediately: rows and logs are read one after the other, and the wallet may be going on. */
const soundLogs = Effect.repeat(Effect.delay(logFaults, 20), { until: (faults) => faults.length === 0 }).pipe(
  Effect.timeout(60_000)
)

/** The begin and the end of its run, by its log. */
const runOf = (sandboxId: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly at: number; readonly to_state: string }>`
      select at::float8 as at, to_state from transitions
      where actor_id = ${sandboxId} and to_state is distinct from from_state order by revision`
  ).pipe(
    Effect.map((log) => ({
      began: log.find(({ to_state }) => to_state === "running")!.at,
      ended: log.find(({ to_state }) => to_state === "stopping")?.at ?? null
    }))
  )

const wasExhausted = (accountId: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      select 1 from transitions join actors on actors.id = actor_id
      where kind = 'wallet' and actors.account_id = ${accountId} and to_state = 'exhausted'`
  ).pipe(Effect.map((rows) => rows.length > 0))

/** 64 vCPUs and 2 GiB cost 905 micro-USD a second, and 4 GiB of volume next to nothing. */
const dear = { ATOLL_SANDBOX_VCPUS: "64", ATOLL_SANDBOX_MEMORY_BYTES: String(2 * 1024 ** 3) }
const microUsdPerMs = 0.90512

const running = Effect.fnUntraced(function* (microUsd: number) {
  const account = yield* prepaid
  const { accountId } = account
  yield* grant(accountId, microUsd)
  const { id } = (yield* createIn(account)).sandbox
  yield* untilStatus(accountId, id, "running")
  const { context } = yield* untilWallet(accountId, (row) => row.context.burnMicroUsdPerHour > 0 && isAtRest(row))
  return { accountId, id, exhaustedAt: context.exhaustedAt! }
})

/** Longer than any machine takes for a test: a test's clock skips it. */
const graceMs = 3_600_000

const sleepUntil = (at: number) => Effect.suspend(() => Effect.sleep(Math.max(0, at - Date.now())))

const get = (accountId: string, id: string) => Effect.flatMap(Sandboxes, (sandboxes) => sandboxes.get(accountId, id))
const start = (accountId: string, id: string) =>
  Effect.flatMap(Sandboxes, (sandboxes) => sandboxes.start(accountId, id, { ...request, idempotencyKey: null }))

layer(TestDatabase.layer, { excludeTestServices: true })("a wallet", (it) => {
  it.effect("stops running Sandboxes when its credit ends, and not before; a top-up starts nothing by itself", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { accountId, id, exhaustedAt } = yield* running(1500)
        const low = (yield* walletOf(accountId))!
        assert.deepStrictEqual([low.status, low.due_at], ["low", low.context.nextAt])
        const stopped = yield* untilStatus(accountId, id, "stopped")
        assert.strictEqual(stopped.statusReason?.code, "CREDIT_EXHAUSTED")
        assert.isTrue(world.volumes.has(id))
        const { began, ended } = yield* runOf(id)
        assert.approximately(exhaustedAt, began + 1500 / microUsdPerMs, roundedMs)
        assert.isAtLeast(ended!, exhaustedAt - roundedMs)
        assert.isAtMost(ended!, exhaustedAt + lateMs)
        yield* untilWallet(accountId, (row) => row.status === "exhausted" && isAtRest(row))
        const [stored] = yield* sql<{ readonly at: number }>`
          select exhausted_at::float8 as at from accounts where id = ${accountId}`
        assert.approximately(stored!.at, exhaustedAt, roundedMs)
        yield* grant(accountId, 1_000_000_000)
        yield* untilWallet(accountId, (row) => row.status === "funded" && isAtRest(row))
        assert.strictEqual((yield* get(accountId, id)).status, "stopped")
        const again = yield* start(accountId, id)
        assert.deepStrictEqual([again.status, again.statusReason], ["running", null])
        yield* soundLogs
      }).pipe(Effect.provide(testAtoll(world, { ...noGrace, ...dear })))
    })
  )

  it.effect(
    "lets Sandboxes run for the grace time, counted from the instant itself; a top-up in it cancels the stop",
    () =>
      Effect.gen(function* () {
        const world = yield* SimulatedWorld.make
        const clock = new ShiftedClock()
        yield* Effect.gen(function* () {
          const saved = yield* running(300)
          const left = yield* running(300)
          const { context } = yield* untilWallet(saved.accountId, (row) => row.status === "exhausted" && isAtRest(row))
          assert.approximately(context.stopAt!, saved.exhaustedAt + graceMs, roundedMs)
          assert.strictEqual((yield* get(saved.accountId, saved.id)).status, "running")
          yield* grant(saved.accountId, 1_000_000_000)
          const funded = yield* untilWallet(saved.accountId, (row) => row.status === "funded" && isAtRest(row))
          assert.isNull(funded.context.stopAt)
          assert.strictEqual((yield* get(left.accountId, left.id)).status, "running")
          clock.shiftMs = graceMs
          yield* untilStatus(left.accountId, left.id, "stopped")
          const { ended } = yield* runOf(left.id)
          assert.isAtLeast(ended!, left.exhaustedAt + graceMs - roundedMs)
          assert.isAtMost(ended!, left.exhaustedAt + graceMs + lateMs)
          assert.strictEqual((yield* get(saved.accountId, saved.id)).status, "running")
        }).pipe(
          Effect.provide(testAtoll(world, { ...dear, ATOLL_CREDIT_GRACE_SECONDS: String(graceMs / 1000) })),
          Effect.provideService(Clock.Clock, clock)
        )
      })
  )

  it.effect("with a top-up that races the end either saves the Sandboxes or gets the credit after their stop", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const race = Effect.fnUntraced(function* (aheadMs: number) {
          const { accountId, id, exhaustedAt } = yield* running(500)
          yield* sleepUntil(exhaustedAt - aheadMs)
          yield* grant(accountId, 1_000_000_000)
          const toppedUpAt = Date.now()
          const wasInTime = toppedUpAt < exhaustedAt
          yield* untilWallet(accountId, (row) => row.status === "funded" && isAtRest(row))
          yield* Effect.sleep(200)
          const { status } = yield* get(accountId, id)
          const { ended } = yield* runOf(id)
          if (wasInTime) assert.isNull(ended)
          if (ended === null) assert.strictEqual(status, "running")
          // A stopped account had nothing left before the top-up, however late its stop was.
          else assert.isTrue(yield* wasExhausted(accountId))
        })
        yield* Effect.forEach([300, 30, 8, 4, 2, 0, -2, -60], race, { concurrency: 4 })
      }).pipe(Effect.provide(testAtoll(world, { ...noGrace, ...dear })))
    })
  )

  it.effect("keeps the instant over a restart, and immediately stops what a service that was down could not", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const clock = new ShiftedClock()
      const settings = { ...noGrace, ...dear }
      yield* Effect.gen(function* () {
        // One has a minute, the other an hour.
        const [down, over] = yield* Effect.all([running(60_000), running(3_300_000)]).pipe(
          Effect.provide(testAtoll(world, settings))
        )
        clock.shiftMs = down!.exhaustedAt - Date.now() + 300
        const startedAt = clock.currentTimeMillisUnsafe()
        yield* Effect.gen(function* () {
          yield* untilStatus(down!.accountId, down!.id, "stopped")
          assert.isAtLeast((yield* runOf(down!.id)).ended!, startedAt)
          assert.strictEqual((yield* get(over!.accountId, over!.id)).status, "running")
          clock.shiftMs = over!.exhaustedAt - Date.now() - 1000
          yield* untilStatus(over!.accountId, over!.id, "stopped")
          const { ended } = yield* runOf(over!.id)
          assert.isAtLeast(ended!, over!.exhaustedAt - roundedMs)
          assert.isAtMost(ended!, over!.exhaustedAt + lateMs)
        }).pipe(Effect.provide(testAtoll(world, settings)))
      }).pipe(Effect.provideService(Clock.Clock, clock))
    })
  )

  it.effect("stops a Sandbox again that boots although nothing is left", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const { accountId, id } = yield* running(100)
        yield* untilStatus(accountId, id, "stopped")
        // Its request had passed the check before.
        for (let times = 2; times <= 4; times++) {
          yield* start(accountId, id)
          const stopped = yield* untilStatus(accountId, id, "stopped").pipe(
            Effect.repeat({ schedule: Schedule.spaced(5), until: ({ generation }) => generation === times })
          )
          assert.strictEqual(stopped.statusReason?.code, "CREDIT_EXHAUSTED")
        }
        yield* untilWallet(accountId, isAtRest)
        yield* soundLogs
      }).pipe(Effect.provide(testAtoll(world, { ...noGrace, ...dear })))
    })
  )

  it.effect("of a suspended account stops every Sandbox, gives the reason, and loses nothing", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const accounts = yield* Accounts
        const operations = yield* Operations
        const account = yield* newAccount
        const { accountId } = account
        const ids: Array<string> = []
        for (let index = 0; index < 20; index++) ids.push((yield* createIn(account, `k${index}`)).sandbox.id)
        yield* Effect.forEach(ids, (id) => untilStatus(accountId, id, "running"))
        const operation = yield* operations.start(accountId, ids[0]!, {
          ...request,
          idempotencyKey: "op",
          fingerprint: "f",
          request: { ...command, argv: ["hang"], timeoutSeconds: null }
        })
        yield* accounts.suspend(accountId)
        for (const id of ids) {
          const { statusReason } = yield* untilStatus(accountId, id, "stopped")
          assert.strictEqual(statusReason?.code, "ACCOUNT_SUSPENDED")
          assert.isTrue(world.volumes.has(id))
        }
        const { status, reason } = yield* operations.get(accountId, ids[0]!, operation.id)
        assert.strictEqual(status, "failed")
        assert.include(["ACCOUNT_SUSPENDED", "SANDBOX_STOPPED"], reason?.code)
        yield* accounts.resume(accountId)
        yield* untilWallet(accountId, (row) => row.context.suspendedAt === null && isAtRest(row))
        assert.strictEqual((yield* start(accountId, ids[0]!)).status, "running")
        yield* untilWallet(accountId, isAtRest)
        assert.strictEqual((yield* get(accountId, ids[0]!)).status, "running")
      }).pipe(Effect.provide(Accounts.layer), Effect.provide(testAtoll(world)))
    })
  )

  it.effect(
    "learns of another program's changes: made while the service was down, and after its connection broke",
    () =>
      Effect.gen(function* () {
        const world = yield* SimulatedWorld.make
        const sql = yield* SqlClient.SqlClient
        const { accountId } = yield* prepaid
        const outboxRows = Effect.map(sql`select 1 from wallet_nudges`, (rows) => rows.length)
        yield* grant(accountId, 1_000_000).pipe(Effect.provide(Ledger.layer))
        assert.strictEqual(yield* outboxRows, 1)
        yield* Effect.gen(function* () {
          yield* untilWallet(accountId, (row) => row.status === "funded")
          yield* Effect.repeat(outboxRows, { schedule: Schedule.spaced(5), until: (left) => left === 0 })
          const listeners = sql<{ readonly pid: number }>`
          select pid from pg_stat_activity where application_name = 'atoll-notices' and datname = current_database()`
          const [before] = yield* listeners
          yield* sql`select pg_terminate_backend(${before!.pid}::int4)`
          yield* grant(accountId, 1_000_000).pipe(Effect.provide(Ledger.layer))
          yield* untilWallet(accountId, (row) => row.context.grantedMicroUsd === 2_000_000)
          yield* Effect.repeat(outboxRows, { schedule: Schedule.spaced(5), until: (left) => left === 0 })
          yield* Effect.repeat(listeners, {
            schedule: Schedule.spaced(5),
            until: ([now]) => now !== undefined && now.pid !== before!.pid
          })
          yield* grant(accountId, 1_000_000).pipe(Effect.provide(Ledger.layer))
          yield* untilWallet(accountId, (row) => row.context.grantedMicroUsd === 3_000_000)
        }).pipe(Effect.provide(testAtoll(world)))
      })
  )

  it.effect("is made for an account whose Sandboxes ran before wallets existed, and posts all of it", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const sql = yield* SqlClient.SqlClient
      const account = yield* newAccount
      const { accountId } = account
      const { id } = yield* Effect.gen(function* () {
        const { sandbox } = yield* createIn(account)
        yield* untilStatus(accountId, sandbox.id, "running")
        yield* untilWallet(accountId, (row) => row.context.burnMicroUsdPerHour > 0 && isAtRest(row))
        return sandbox
      }).pipe(Effect.provide(testAtoll(world, dear)))
      yield* sql`delete from transitions where actor_id in (select id from actors where kind = 'wallet')`
      yield* sql`delete from actors where kind = 'wallet'`
      for (const table of ["meters", "segments", "wallets", "ledger_entries", "allocations", "grants"])
        yield* sql.unsafe(`delete from ${table}`)
      yield* firstWallets
      yield* Effect.gen(function* () {
        const row = yield* untilWallet(accountId, (row) => row.context.burnMicroUsdPerHour > 0 && isAtRest(row))
        assert.isBelow(row.context.balanceMicroUsd, 0)
        const { began } = yield* runOf(id)
        const [segment] = yield* sql<{ readonly from_at: number }>`
          select min(from_at)::float8 as from_at from segments where sandbox_id = ${id}`
        assert.strictEqual(segment!.from_at, began)
      }).pipe(Effect.provide(testAtoll(world, dear)))
    })
  )

  it.effect("prunes its own log like other logs", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { accountId } = yield* prepaid
        const log = sql<{ readonly is_old: boolean }>`
          select at = 1 as is_old from transitions
          where actor_id = (select id from actors where kind = 'wallet' and account_id = ${accountId})`
        yield* grant(accountId, 1_000_000)
        yield* untilWallet(accountId, (row) => row.status === "funded" && isAtRest(row))
        yield* sql`update transitions set at = 1 where actor_id in (select id from actors where kind = 'wallet' and account_id = ${accountId})`
        assert.isAtLeast((yield* log).length, 2)
        yield* grant(accountId, 1_000_000)
        yield* untilWallet(accountId, (row) => row.context.grantedMicroUsd === 2_000_000 && isAtRest(row))
        const left = yield* log
        assert.isNotEmpty(left)
        assert.isFalse(left.some(({ is_old }) => is_old))
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )

  it.effect("of an account at rest waits for nothing: ten thousand of them are not read", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const journal = yield* Journal
        const { accountId } = yield* prepaid
        yield* grant(accountId, 1_000_000)
        const atRest = yield* untilWallet(accountId, (row) => row.status === "funded" && isAtRest(row))
        assert.isNull(atRest.due_at)
        yield* sql`
          insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, pending, deadlines, due_at, created_at)
          select 'wal_rest' || n, kind, 'acc_rest' || n, sandbox_id, machine_version, revision, input, snapshot, pending, deadlines, due_at, created_at
          from actors, generate_series(1, 10000) n where kind = 'wallet' and account_id = ${accountId}`
        yield* settle("actors")
        const { rows, blocks } = yield* rowsRead("actors", journal.waiting(Date.now() + 60_000))
        assert.isBelow(rows, 100)
        assert.isBelow(blocks, 100)
      }).pipe(Effect.provide(Journal.layer), Effect.provide(testAtoll(world)))
    })
  )
})
