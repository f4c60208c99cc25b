/** `usage verify` on correct books, and on books with one fault. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Sizes } from "../../../src/wallet/Cost.ts"
import { compareBooks, verifyUsage } from "../../../src/wallet/verify/verifyUsage.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { PostgresLedger } from "./PostgresLedger.ts"

const accountId = "acc_verify"
const hour = 60 * 60 * 1000
const start = Date.parse("2036-03-01T20:00:00Z")
const sandbox = (n: number) => ({
  sandboxId: `sbx_${n}`,
  snapshotOf: null,
  accountId,
  workspaceId: "wsp_1",
  name: null,
  vcpus: 2,
  memoryBytes: 3 * 2 ** 30,
  volumeBytes: 10 * 2 ** 30
})

const stored = (volumeBytes: number): Sizes => ({ vcpus: 0, memoryBytes: 0, volumeBytes })
const snapshot = { ...sandbox(1), sandboxId: "snp_1", snapshotOf: "sbx_1", ...stored(0) }

/**
 * Three Sandboxes and a snapshot over two days: one that runs on, one that was deleted, one that was found dead late; new rates,
 * promotional credit of which a part expires, bought credit that is used up, and debt that a later grant pays.
 */
const lived = Effect.gen(function* () {
  const ledger = yield* PostgresLedger.of(accountId)
  const revisions = new Map<number, number>()
  const states = new Map<number, string>()
  const commit = async (n: number, at: number, to: string, seenAt: number | null, sizes: Sizes | null) => {
    const revision = (revisions.get(n) ?? 0) + 1
    revisions.set(n, revision)
    await ledger.commit(sandbox(n), { revision, at, from: states.get(n) ?? null, to, seenAt, sizes })
    states.set(n, to)
  }
  const move = (n: number, at: number, to: string, seenAt: number | null = null) => commit(n, at, to, seenAt, null)
  const resize = (n: number, at: number, sizes: Sizes) => commit(n, at, states.get(n)!, null, sizes)
  const grant = (kind: "promotional" | "purchase", microUsd: bigint, expiresAt: number | null) =>
    ledger.grant({ kind, microUsd, expiresAt, description: "a gift" })
  const at = (ms: number) => ledger.now(start + ms)

  yield* Effect.promise(async () => {
    at(0)
    await grant("purchase", 100_000n, null)
    await grant("promotional", 10_000_000n, start + 5 * hour)
    for (const n of [1, 2, 3]) {
      await move(n, start + n, "pending")
      await move(n, start + n * 1001, "running")
    }
    at(hour)
    await ledger.settle(start + hour)
    const made = { at: start + hour + 40, seenAt: null, sizes: null }
    await ledger.commit(snapshot, { ...made, revision: 1, from: null, to: "creating" })
    const sizes = stored(300 * 2 ** 30)
    await ledger.commit(snapshot, { ...made, at: start + hour + 50, revision: 2, from: "creating", to: "ready", sizes })
    await move(2, start + 2 * hour, "stopping")
    await move(2, start + 2 * hour + 500, "stopped")
    at(2 * hour)
    await ledger.fold("sbx_2")
    await ledger.setRates({
      vcpuSecondNanoUsd: 7777n,
      memoryGibSecondNanoUsd: 3333n,
      volumeGibSecondNanoUsd: 11n,
      snapshotGibSecondNanoUsd: 13n,
      effectiveAt: start + 3 * hour
    })
    // In the middle of its run: the rest costs what half a vCPU does.
    await resize(3, start + 5 * hour, { vcpus: 0.5, memoryBytes: 2 ** 30, volumeBytes: 11 * 2 ** 30 })
    at(7 * hour)
    await ledger.settle(start + 7 * hour)
    // It was last seen alive before the posted instant.
    await move(3, start + 7 * hour + 5, "stopping", start + 6 * hour + 123)
    await move(3, start + 7 * hour + 6, "stopped")
    await ledger.fold("sbx_3")
    await resize(3, start + 8 * hour, { vcpus: 2.3, memoryBytes: 2 ** 30, volumeBytes: 12 * 2 ** 30 })
    await move(2, start + 8 * hour, "deleting")
    await move(2, start + 8 * hour + 1, "deleted")
    at(9 * hour)
    await ledger.fold("sbx_2")
    at(30 * hour)
    await ledger.settle(start + 30 * hour)
    await grant("purchase", 50_000_000n, null)
  })
  return ledger
})

layer(TestDatabase.layer, { excludeTestServices: true })("usage verify", (it) => {
  /** The findings on these books after a change, which is then undone. */
  const toldAfter = (harm: string) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const told = yield* sql
        .withTransaction(
          Effect.gen(function* () {
            for (const statement of harm.split(";")) yield* sql.unsafe(statement)
            return yield* Effect.fail(yield* compareBooks(sql, null))
          })
        )
        .pipe(Effect.catch((verification) => Effect.succeed(verification)))
      return "differences" in told ? told : assert.fail(String(told))
    })

  it.effect("finds no fault in the ledger's own books", () =>
    Effect.gen(function* () {
      yield* lived
      const sql = yield* SqlClient.SqlClient
      const verification = yield* verifyUsage(sql, null)
      assert.deepStrictEqual(verification.differences, [])
      const [books] = yield* sql<{ kinds: string; taken: number }>`
        select string_agg(distinct kind, ' ' order by kind) as kinds, (select count(*)::int4 from segments where sign = -1) as taken from ledger_entries`
      assert.strictEqual(books!.kinds, "expiry grant reversal usage", "the books have everything that there can be")
      assert.isAbove(books!.taken, 0)
      const { transitions, sandboxes, snapshots, prunedSandboxes, accounts, grants, costMicroUsd } = verification
      assert.deepStrictEqual(
        { transitions, sandboxes, snapshots, prunedSandboxes, accounts, grants },
        { transitions: 16, sandboxes: 3, snapshots: 1, prunedSandboxes: 0, accounts: 1, grants: 3 }
      )
      assert.isTrue(costMicroUsd > 1_000_000n)
      assert.deepStrictEqual((yield* verifyUsage(sql, accountId)).differences, [])
    })
  )

  const usage = (where: string) =>
    `(select id from ledger_entries where kind = 'usage' and ${where} order by number limit 1)`

  for (const [harm, statement, found] of [
    [
      "a sum of a meter",
      `update meters set memory_sum = memory_sum + 1 where sandbox_id = 'sbx_1'`,
      "memory sum of the meter"
    ],
    ["a meter that counts on", `update meters set is_running = true where sandbox_id = 'sbx_3'`, "whether it runs"],
    ["a larger Sandbox", `update meters set milli_vcpus = 4000 where sandbox_id = 'sbx_1'`, "vCPUs of the meter"],
    ["a missing segment", `delete from segments where sandbox_id = 'sbx_1' and number = 3`, "number of segments"],
    [
      "a dearer segment",
      `update segments set volume_micro_usd = volume_micro_usd + 1 where sandbox_id = 'sbx_1' and number = 2`,
      "segments that do not cost what their sums say"
    ],
    [
      "a segment at the rates of before",
      `update segments set vcpu_rate = 28000000 where sandbox_id = 'sbx_1' and vcpu_rate = 15554000`,
      "segments at other rates than their card's"
    ],
    [
      "a segment of the sizes of later",
      `update segments set milli_vcpus = 500, memory_bytes = ${2 ** 30} where sandbox_id = 'sbx_3' and is_running and milli_vcpus = 2000`,
      "segments at other rates than their card's"
    ],
    [
      "a segment of two days",
      `update segments set to_at = to_at + ${hour} where sandbox_id = 'sbx_1' and to_at % 86400000 = 0`,
      "segments that are longer than a UTC day or a rate card"
    ],
    [
      "a run without its end",
      `delete from segments where sandbox_id = 'sbx_3' and sign = -1`,
      "ms of running in its segments"
    ],
    ["a missing entry", `delete from ledger_entries where id = ${usage("true")}`, "entry of a segment"],
    [
      "an entry twice",
      `insert into ledger_entries select 'txn_again', account_id, 99, at, posted_at, kind, micro_usd, balance_micro_usd, sandbox_id, segment, period_from, period_to, description, grant_id, reverses_id from ledger_entries where id = ${usage("true")}`,
      "entry of a segment"
    ],
    [
      "an entry of another amount",
      `update ledger_entries set micro_usd = micro_usd - 1 where id = ${usage("true")}`,
      "balance after an entry"
    ],
    ["a reversal dropped", `delete from ledger_entries where kind = 'reversal'`, "entry of a segment"],
    [
      "a reversal of something else",
      `update ledger_entries set reverses_id = ${usage("true")} where kind = 'reversal'`,
      "entry that a reversal takes back"
    ],
    ["expired credit spent", `update grants set expires_at = expires_at - ${hour}`, "what paid an entry"],
    [
      "bought credit spent first",
      `update grants set kind = case when expires_at is null then 'promotional' else 'purchase' end`,
      "what paid an entry"
    ],
    [
      "an expiry forgotten",
      `update ledger_entries set micro_usd = micro_usd + 1 where kind = 'expiry'`,
      "what expired of a grant"
    ],
    ["a balance", `update wallets set balance_micro_usd = balance_micro_usd + 1`, "balance of the wallet"],
    ["a debt", `update wallets set debt_micro_usd = debt_micro_usd + 1`, "debt of the wallet"],
    [
      "a grant that fills itself",
      `update grants set remaining_micro_usd = remaining_micro_usd + 1 where expires_at is null`,
      "what is left of a grant"
    ],
    [
      "an allocation without an entry",
      `insert into allocations values ('txn_none', 0, '${accountId}', 'grt_none', 5, 'txn_none', 0)`,
      "allocation without an entry"
    ],
    [
      "rates changed afterwards",
      `update rate_cards set vcpu_second_nano_usd = 7778 where effective_at > 0`,
      "vCPU sum of the meter"
    ],
    [
      "an unposted Sandbox",
      `delete from segments where sandbox_id = 'sbx_2'; delete from meters where sandbox_id = 'sbx_2'; update actors set pending = '[]'`,
      "posting"
    ],
    [
      "a snapshot at the rate of volumes",
      `update segments set volume_rate = ${11n * 300n * 2n ** 30n} where sandbox_id = 'snp_1' and volume_rate = ${13n * 300n * 2n ** 30n}`,
      "segments at other rates than their card's"
    ],
    [
      "a larger snapshot",
      `update meters set volume_bytes = 1 where sandbox_id = 'snp_1'`,
      "volume of the meter, in bytes"
    ],
    [
      "a snapshot charged to another Sandbox",
      `update segments set snapshot_of = 'sbx_2' where sandbox_id = 'snp_1'`,
      "segments of another account or workspace"
    ],
    [
      "an unposted snapshot",
      `delete from segments where sandbox_id = 'snp_1'; delete from meters where sandbox_id = 'snp_1'; update actors set pending = '[]'`,
      "posting"
    ],
    ["a hole in a log", `delete from transitions where actor_id = 'sbx_1' and revision = 1`, "transitions in its log"],
    [
      "a Sandbox forgotten before it was closed",
      `delete from transitions where actor_id = 'sbx_1'; delete from actors where id = 'sbx_1'`,
      "whether the meter of a Sandbox that is gone was closed"
    ],
    ["money of no account", `update accounts set id = 'acc_other'`, "money of no account"]
  ] as const) {
    it.effect(`finds ${harm}`, () =>
      Effect.gen(function* () {
        const { differences, differencesCount } = yield* toldAfter(statement)
        assert.include(
          differences.map(({ what }) => what),
          found
        )
        assert.isAtLeast(differencesCount, differences.length)
      })
    )
  }

  it.effect("relies on the books alone for a forgotten Sandbox", () =>
    Effect.gen(function* () {
      const forget = `delete from transitions where actor_id = 'sbx_2'; delete from actors where id = 'sbx_2'`
      const { differences, prunedSandboxes, sandboxes, transitions } = yield* toldAfter(forget)
      assert.deepStrictEqual(differences, [])
      assert.deepStrictEqual(
        { prunedSandboxes, sandboxes, transitions },
        { prunedSandboxes: 1, sandboxes: 3, transitions: 10 }
      )
    })
  )

  it.effect("does not look for Sandboxes that were deleted before metering began", () =>
    Effect.gen(function* () {
      const bare = `delete from allocations; delete from ledger_entries; delete from segments; delete from meters; delete from grants; delete from wallets;
        update actors set pending = '[]'`
      assert.lengthOf((yield* toldAfter(bare)).differences, 4)
      const later = `${bare}; update atoll_migrations set created_at = '2040-01-01' where name = 'money'`
      const { differences } = yield* toldAfter(later)
      assert.sameMembers(
        differences.map(({ id }) => id),
        ["sbx_1", "sbx_3", "snp_1"]
      )
    })
  )

  it.effect("does not report a difference that is about to be posted", () =>
    Effect.gen(function* () {
      const went = `
        insert into transitions values ('sbx_1', 3, ${start + 31 * hour}, '{}', 'running', 'stopping', '[]', 'test', null, '');
        update actors set revision = 3, pending = '[{"key":"3.0","type":"meter","params":null}]' where id = 'sbx_1'`
      const { differences, unpostedSandboxes } = yield* toldAfter(went)
      assert.deepStrictEqual(differences, [])
      assert.strictEqual(unpostedSandboxes, 1)
      const forgotten = yield* toldAfter(`${went}; update actors set pending = '[]' where id = 'sbx_1'`)
      assert.deepStrictEqual(
        forgotten.differences.map(({ what }) => what),
        ["posting"]
      )
    })
  )
})
