/**
 * The ledger's refusals, plans and books, by example; the witness checks everything else (inMemory.test.ts,
 * inPostgres.test.ts).
 */
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Ledger } from "../../../src/wallet/Ledger.ts"
import { ShiftedClock } from "../../support/ShiftedClock.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const noon = Date.UTC(2026, 4, 5, 12)

const clock = new ShiftedClock()

const at = <A, E, R>(instant: number, effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    clock.frozenAt = instant
    return Effect.provideService(effect, Clock.Clock, clock)
  })

const account = Effect.fnUntraced(function* (id: string, billing: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`insert into accounts (id, name, created_at, billing) values (${id}, ${id}, 0, ${billing})`
})

/** One vCPU, 1 GiB of memory, 1 GiB of volume: 18.53 micro-USD a second at the first rates. */
const run = Effect.fnUntraced(function* (
  accountId: string,
  sandboxId: string,
  log: ReadonlyArray<readonly [at: number, to: string, seenAt?: number]>
) {
  const sql = yield* SqlClient.SqlClient
  const input = { name: "box", profile: { vcpus: 1, memoryBytes: 2 ** 30, diskBytes: 2 ** 30 } }
  const last = log.at(-1)![1]
  const snapshot = JSON.stringify({ value: last, context: { workspaceId: "wsp" } })
  yield* sql`
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, sandbox_status, created_at)
    values (${sandboxId}, 'sandbox', ${accountId}, ${sandboxId}, 1, ${BigInt(log.length)}, ${JSON.stringify(input)}::jsonb, ${snapshot}::jsonb, ${last}, 0)
    on conflict (id) do update set revision = excluded.revision, snapshot = excluded.snapshot, sandbox_status = excluded.sandbox_status`
  for (const [i, [instant, to, seenAt]] of log.entries()) {
    yield* sql`
      insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, commit_token)
      values (${sandboxId}, ${BigInt(i + 1)}, ${BigInt(instant)}, ${JSON.stringify({ type: "X", seenAt })}::jsonb, ${log[i - 1]?.[1] ?? null},
              ${to}, '[]'::jsonb, 'test', '') on conflict do nothing`
  }
})

layer(Ledger.layer.pipe(Layer.provideMerge(TestDatabase.layer)), { excludeTestServices: true })("the ledger", (it) => {
  it.effect("bills a run, not the boot before it, and plans to the millisecond when the credit ends", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* account("acc_run", "prepaid")
      const empty = yield* at(noon, ledger.reckon("acc_run"))
      assert.deepInclude(empty, { status: "exhausted", balanceMicroUsd: 0n, exhaustedAt: noon, nextAt: null })
      yield* at(
        noon,
        ledger.grant({
          accountId: "acc_run",
          kind: "purchase",
          microUsd: 1853n,
          expiresAt: null,
          description: "a gift"
        })
      )
      const idle = yield* at(noon, ledger.reckon("acc_run"))
      assert.deepInclude(idle, { status: "funded", balanceMicroUsd: 1853n, exhaustedAt: null, nextAt: null })
      yield* run("acc_run", "sbx_run", [
        [noon, "pending"],
        [noon + 10_000, "running"]
      ])
      assert.deepEqual(yield* at(noon + 10_000, ledger.foldSandbox("sbx_run")), {
        accountId: "acc_run",
        isClosed: false
      })
      // vCPU 1400, memory 450, volume 3 after 100 s: 1853; a millisecond before, the sums are short of each.
      const started = yield* at(noon + 10_000, ledger.reckon("acc_run"))
      assert.deepInclude(started, { status: "low", exhaustedAt: noon + 110_000, burnMicroUsdPerHour: 66_708n })
      const before = yield* at(noon + 109_999, ledger.reckon("acc_run"))
      assert.strictEqual(before.status, "low")
      assert.isTrue(before.balanceMicroUsd > 0n)
      assert.deepInclude(yield* at(noon + 110_000, ledger.reckon("acc_run")), {
        status: "exhausted",
        balanceMicroUsd: 0n
      })
      assert.deepInclude(yield* at(noon + 120_000, ledger.settle("acc_run")), {
        status: "exhausted",
        exhaustedAt: noon + 110_000
      })
    })
  )

  it.effect("reverses what was posted after the last moment at which a dead runtime was seen alive", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      yield* account("acc_late", "unlimited")
      const up = [
        [noon, "pending"],
        [noon, "running"]
      ] as const
      yield* run("acc_late", "sbx_late", up)
      assert.strictEqual((yield* at(noon + 60_000, ledger.settle("acc_late"))).balanceMicroUsd, -1111n)
      yield* run("acc_late", "sbx_late", [...up, [noon + 90_000, "stopping", noon + 10_000]])
      yield* at(noon + 90_000, ledger.foldSandbox("sbx_late"))
      // 10 s of vCPU and memory, 90 s of volume.
      const { balanceMicroUsd, status, exhaustedAt } = yield* at(noon + 90_000, ledger.reckon("acc_late"))
      assert.deepEqual(
        { balanceMicroUsd, status, exhaustedAt },
        { balanceMicroUsd: -187n, status: "unlimited", exhaustedAt: null }
      )
      const entries = yield* sql<{ kind: string; micro_usd: bigint; reverses: string | null }>`
        select e.kind, e.micro_usd, r.kind as reverses from ledger_entries e left join ledger_entries r on r.id = e.reverses_id
        where e.account_id = 'acc_late' order by e.number`
      assert.deepInclude(entries, { kind: "reversal", micro_usd: 926n, reverses: "usage" })
    })
  )

  it.effect("does not let expired credit be spent, even if no posting noticed the expiry in time", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* account("acc_old", "prepaid")
      yield* at(
        noon,
        ledger.grant({
          accountId: "acc_old",
          kind: "promotional",
          microUsd: 500n,
          expiresAt: noon + 1000,
          description: "a gift"
        })
      )
      const { grants, ...figures } = yield* at(noon + 5000, ledger.balance("acc_old"))
      assert.deepInclude(figures, { balanceMicroUsd: 0n, status: "exhausted", exhaustedAt: noon + 1000 })
      assert.deepInclude(grants[0], { remainingMicroUsd: 0n, expiredMicroUsd: 500n })
    })
  )

  it.effect("refuses grants of nothing, of too much, or that end before they begin", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* account("acc_rich", "unlimited")
      const ask = (microUsd: bigint, expiresAt: number | null) =>
        at(noon, ledger.grant({ accountId: "acc_rich", kind: "purchase", microUsd, expiresAt, description: "" }))
      for (const [microUsd, expiresAt] of [
        [0n, null],
        [-1n, null],
        [10n ** 15n + 1n, null],
        [1n, noon]
      ] as const) {
        assert.strictEqual((yield* Effect.flip(ask(microUsd, expiresAt)))._tag, "CreditRefused")
      }
      for (let i = 0; i < 9; i++) yield* ask(10n ** 15n, null)
      assert.match((yield* Effect.flip(ask(1n, null))).message, /9000000000\.00 USD at most/)
      const { balanceMicroUsd } = yield* at(noon, ledger.reckon("acc_rich"))
      assert.strictEqual(Number(balanceMicroUsd), 9e15)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(ledger.reckon("acc_nobody"))), "no such account")
    })
  )

  it.effect("accepts rates only from now on, and writes an outbox row for each account that burns", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      yield* account("acc_burns", "unlimited")
      yield* run("acc_burns", "sbx_burns", [
        [noon, "pending"],
        [noon, "running"]
      ])
      yield* at(noon + 200_000, ledger.settle("acc_burns"))
      yield* sql`delete from wallet_nudges`
      const rates = {
        vcpuSecondNanoUsd: 0n,
        memoryGibSecondNanoUsd: 0n,
        volumeGibSecondNanoUsd: 1000n,
        snapshotGibSecondNanoUsd: 0n
      }
      const ask = (effectiveAt: number) => at(noon + 200_000, ledger.setRates({ ...rates, effectiveAt }))
      assert.match((yield* Effect.flip(ask(noon + 199_999))).message, /from now on or later/)
      assert.deepEqual(yield* sql`select 1 from wallet_nudges`, [])
      yield* ask(noon + 300_000)
      assert.match((yield* Effect.flip(ask(noon + 300_000))).message, /already/)
      const [outbox] = yield* sql<{ count: number }>`
        select count(*)::int4 as count from wallet_nudges where account_id = 'acc_burns'`
      assert.strictEqual(outbox!.count, 1)
      const before = yield* at(noon + 300_000, ledger.reckon("acc_burns"))
      assert.strictEqual(before.burnMicroUsdPerHour, 3600n)
      const after = yield* at(noon + 301_000, ledger.reckon("acc_burns"))
      assert.strictEqual(before.balanceMicroUsd - after.balanceMicroUsd, 1n)
      assert.deepInclude((yield* ledger.rates).at(-1), { effectiveAt: noon + 300_000, createdAt: noon + 200_000 })
    })
  )
})
