/**
 * Reports of usage and costs, on random lives of Sandboxes whose money the real ledger posted: compared with whole logs
 * as the witness reads them, in windows that cut segments anywhere, posted and not posted yet.
 */
import assert from "node:assert/strict"
import { Clock, Effect, Layer, ManagedRuntime, Result } from "effect"
import { afterAll, describe, it } from "vitest"
import { costGroupings } from "../../../schemas/Usage.ts"
import { ExecutionLog } from "../../../src/store/ExecutionLog.ts"
import { Costs } from "../../../src/wallet/Costs.ts"
import { dayMs } from "../../../src/wallet/Fold.ts"
import type { RateCard } from "../../../src/wallet/RateCard.ts"
import { type Transaction, Transactions } from "../../../src/wallet/Transactions.ts"
import { UsageReports } from "../../../src/wallet/UsageReports.ts"
import { ShiftedClock } from "../../support/ShiftedClock.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { costOf } from "../../support/wallet/Witness.ts"
import { MoneyRun } from "./MoneyRun.ts"
import { PostgresLedger } from "./PostgresLedger.ts"
import { checkScenarios, runs } from "./replay.ts"

const reports = Layer.mergeAll(Costs.layer, UsageReports.layer, Transactions.layer).pipe(
  Layer.provide(ExecutionLog.layer),
  Layer.provideMerge(TestDatabase.layer)
)
const runtime = ManagedRuntime.make(reports)
afterAll(() => runtime.dispose())

/** Rates under which a micro-USD is a thousandth of a vCPU and a millisecond, or a byte and a millisecond. */
const counting: RateCard = {
  effectiveAt: 0,
  vcpuSecondNanoUsd: 10n ** 9n,
  memoryGibSecondNanoUsd: 10n ** 6n * 2n ** 30n,
  volumeGibSecondNanoUsd: 10n ** 6n * 2n ** 30n,
  snapshotGibSecondNanoUsd: 10n ** 6n * 2n ** 30n,
  createdAt: 0
}

const sum = <A>(items: Iterable<A>, of: (item: A) => bigint) => [...items].reduce((all, item) => all + of(item), 0n)

/** Some instants between two others, in order, both included: the first window begins before anything, none is longer than 400 days. */
const cutsOf = (from: number, to: number, seed: number, more: ReadonlyArray<number>): ReadonlyArray<number> => {
  const cuts = new Set([from, to, ...more])
  let state = seed
  for (let i = 0; i < 4; i++) {
    state = (state * 48_271) % 2_147_483_647
    cuts.add(Math.floor(from + ((to - from) * state) / 2_147_483_647))
  }
  // At the ends of days, and of segments.
  cuts.add(Math.floor((from + to) / 2 / dayMs) * dayMs)
  for (let at = from; at < to; at += 300 * dayMs) cuts.add(at)
  return [...cuts].filter((at) => at >= from && at <= to).toSorted((a, b) => a - b)
}

const windowsOf = (cuts: ReadonlyArray<number>) => cuts.slice(1).map((to, i) => ({ from: cuts[i]!, to }))

const accountId = "acc_money"

describe("money", () => {
  it(
    "in reports",
    () =>
      checkScenarios("in reports", runs(25), 25, (scenario) =>
        runtime.runPromise(
          Effect.scoped(
            Effect.gen(function* () {
              const costs = yield* Costs
              const usage = yield* UsageReports
              const ledger = yield* PostgresLedger.of(accountId)
              // The ledger's own test covers which grant is spent.
              const run = new MoneyRun(ledger, { ...scenario, isPunctual: false }, accountId)
              yield* Effect.promise(() => run.run())
              const books = yield* Effect.promise(ledger.books)
              const lived = [...run.logs.values()].filter(({ log }) => log.length > 0)
              const logs = lived.filter(
                ({ sandbox, log }) => sandbox.snapshotOf === null && log.some(({ to }) => to === "running")
              )
              const snapshots = lived.filter(({ sandbox }) => sandbox.snapshotOf !== null)
              const last = books.meters.reduce((latest, { at }) => Math.max(latest, at), scenario.startAt)
              // Later usage is not posted.
              const now = last + 3 * dayMs + 12_345
              const clock = new ShiftedClock()
              clock.frozenAt = now
              ledger.now(now)
              const at = Effect.provideService(Clock.Clock, clock)

              const earliest = Math.min(...lived.map(({ log }) => log[0]!.at), scenario.startAt) - 1000
              // Within the amounts that were posted and reversed.
              const takenBack = books.segments
                .filter(({ sign }) => sign === -1)
                .slice(0, 3)
                .map((segment) => Math.floor((segment.from + segment.to) / 2))
              const windows = windowsOf(cutsOf(earliest, now, scenario.startAt % 2_147_483_647, takenBack))
              const read = Effect.forEach(windows, (window) =>
                Effect.gen(function* () {
                  const [bySandbox, byDay, byWorkspace] = yield* Effect.forEach(costGroupings, (groupBy) =>
                    at(costs.read(accountId, { ...window, groupBy, sandboxId: null }))
                  )
                  return { bySandbox: bySandbox!, byDay: byDay!, byWorkspace: byWorkspace! }
                })
              )

              const found = yield* read
              for (const [i, { from, to }] of windows.entries()) {
                const { bySandbox, byDay, byWorkspace } = found[i]!
                const truth = (key: string, cards: ReadonlyArray<RateCard>) => {
                  const known = run.logs.get(key)!
                  const [before, after] = [costOf(known, from, cards), costOf(known, to, cards)]
                  return {
                    vcpu: after.vcpu - before.vcpu,
                    memory: after.memory - before.memory,
                    volume: after.volume - before.volume
                  }
                }
                for (const { sandbox } of logs) {
                  const group = bySandbox.costs.find(({ key }) => key === sandbox.sandboxId)
                  const own = snapshots.filter(({ sandbox: { snapshotOf } }) => snapshotOf === sandbox.sandboxId)
                  const stored = (cards: ReadonlyArray<RateCard>) =>
                    sum(own, (one) => truth(one.sandbox.sandboxId, cards).volume)
                  const expected = { ...truth(sandbox.sandboxId, books.cards), snapshot: stored(books.cards) }
                  const nothing = { vcpu: 0n, memory: 0n, volume: 0n, snapshot: 0n }
                  assert.deepEqual(group?.components ?? nothing, expected, "what it cost")
                  const least = { vcpus: 0.1, memoryBytes: 1, volumeBytes: 1 }
                  // A change of sizes stays one: it says that the Sandbox was seen alive.
                  const bare = run.logs
                    .get(sandbox.sandboxId)!
                    .log.map((line) => ({ ...line, sizes: line.sizes === null ? null : least }))
                  const single = { sandbox: { ...sandbox, ...least }, log: bare }
                  const ms = (at: number) => costOf(single, at, [counting])
                  assert.equal(BigInt(group?.sandboxMs ?? 0) * 100n, ms(to).vcpu - ms(from).vcpu, "how long it ran")
                  const was = ms(to).volume > ms(from).volume || stored([counting]) > 0n
                  assert.equal(group !== undefined, was, "it is shown if it or a snapshot of it was there")
                }
                const [one] = bySandbox.costs
                if (one !== undefined) {
                  const alone = { ...windows[i]!, groupBy: "day" as const, sandboxId: one.key }
                  const ofOne = yield* at(costs.read(accountId, alone))
                  assert.equal(ofOne.totalMicroUsd, one.microUsd, "a Sandbox alone costs what its group says")
                  const strange = yield* at(costs.read("acc_other", alone))
                  assert.deepEqual([strange.costs, strange.burnMicroUsdPerHour], [[], 0n], "it is its account's")
                }
                for (const report of [bySandbox, byDay, byWorkspace]) {
                  assert.equal(report.totalMicroUsd, bySandbox.totalMicroUsd, "every grouping has the same total")
                  assert.equal(report.asOf, to)
                  assert.equal(
                    sum(
                      report.costs,
                      ({ components: { vcpu, memory, volume, snapshot } }) => vcpu + memory + volume + snapshot
                    ),
                    report.totalMicroUsd
                  )
                  assert.equal(
                    sum(report.costs, ({ sandboxMs }) => BigInt(sandboxMs)),
                    sum(bySandbox.costs, ({ sandboxMs }) => BigInt(sandboxMs))
                  )
                }
                for (const { key, microUsd } of byDay.costs) {
                  const begin = Date.parse(`${key}T00:00:00Z`)
                  const day = { from: Math.max(from, begin), to: Math.min(to, begin + dayMs) }
                  const alone = yield* at(costs.read(accountId, { ...day, groupBy: "sandbox", sandboxId: null }))
                  assert.equal(alone.totalMicroUsd, microUsd, "a day is the window of that day")
                }
                const used = yield* at(usage.read(accountId, { from, to }))
                const each = logs.map(({ sandbox }) => truth(sandbox.sandboxId, [counting]))
                assert.equal(
                  used.milliVcpuMs,
                  sum(each, ({ vcpu }) => vcpu)
                )
                assert.equal(
                  used.memoryByteMs,
                  sum(each, ({ memory }) => memory)
                )
                assert.equal(
                  used.volumeByteMs,
                  sum(each, ({ volume }) => volume)
                )
                assert.equal(
                  used.snapshotByteMs,
                  sum(snapshots, ({ sandbox }) => truth(sandbox.sandboxId, [counting]).volume)
                )
                assert.equal(
                  used.sandboxMs,
                  sum(bySandbox.costs, ({ sandboxMs }) => BigInt(sandboxMs))
                )
              }

              yield* Effect.promise(() => ledger.settle(now))
              assert.deepEqual(yield* read, found, "posting changes nothing of what is reported")
              const posted = yield* Effect.promise(ledger.books)
              assert.equal(
                sum(found, ({ bySandbox }) => bySandbox.totalMicroUsd),
                -sum(
                  posted.entries.filter(({ kind }) => kind === "usage" || kind === "reversal"),
                  ({ microUsd }) => microUsd
                ),
                "all windows together are what left the wallet"
              )

              const transactions = yield* Transactions
              const listed: Array<Transaction> = []
              let before: bigint | null = null
              do {
                const page: ReadonlyArray<Transaction> = yield* transactions.list(accountId, { limit: 3, before })
                listed.push(...page)
                before = page.length === 3 ? page.at(-1)!.number : null
              } while (before !== null)
              assert.deepEqual(
                listed.map(({ id, microUsd }) => ({ id, microUsd })),
                posted.entries.map(({ id, microUsd }) => ({ id, microUsd })).toReversed(),
                "the pages are the ledger"
              )
              assert.equal(listed[0]?.balanceMicroUsd ?? 0n, posted.wallet.balanceMicroUsd)
              for (const grant of posted.grants) {
                const changes = listed.flatMap(({ grants }) => grants).filter(({ grantId }) => grantId === grant.id)
                assert.equal(
                  sum(changes, ({ microUsd }) => microUsd),
                  grant.isPosted ? grant.remainingMicroUsd : 0n,
                  "what was done to a grant is what is left of it"
                )
              }
            })
          )
        )
      ),
    3_600_000
  )
})

const month = { from: Date.UTC(2026, 10, 1), to: Date.UTC(2026, 11, 1) }

describe("the window of a report", () => {
  const asked = (from: number | null, to: number | null, now = Date.UTC(2026, 10, 22, 5)) =>
    runtime.runPromise(
      Effect.gen(function* () {
        const clock = new ShiftedClock()
        clock.frozenAt = now
        const usage = yield* UsageReports
        const read = yield* Effect.result(
          Effect.provideService(usage.read("acc_none", { from, to }), Clock.Clock, clock)
        )
        if (Result.isFailure(read))
          return read.failure.details?.issues.map(({ path, message }) => `${path}: ${message}`)
        const { from: begin, to: end, asOf } = read.success
        return { from: begin, to: end, asOf }
      })
    )

  it("is the current UTC month, up to now", async () => {
    assert.deepEqual(await asked(null, null), { ...month, asOf: Date.UTC(2026, 10, 22, 5) })
    assert.deepEqual(await asked(null, null, month.to - 1), { ...month, asOf: month.to - 1 })
    assert.deepEqual(await asked(null, null, month.from), { ...month, asOf: month.from })
    const december = { from: Date.UTC(2026, 11, 1), to: Date.UTC(2027, 0, 1), asOf: Date.UTC(2026, 11, 31) }
    assert.deepEqual(await asked(null, null, december.asOf), december)
  })

  it("with one end only is the month that it ends, or lasts to the end of the present month", async () => {
    const now = Date.UTC(2026, 10, 22, 5)
    const october = { from: Date.UTC(2026, 9, 1), to: Date.UTC(2026, 10, 1) }
    assert.deepEqual(await asked(null, october.to), { ...october, asOf: october.to })
    assert.deepEqual(await asked(null, october.to - 7), {
      from: october.from,
      to: october.to - 7,
      asOf: october.to - 7
    })
    assert.deepEqual(await asked(october.from, null), { from: october.from, to: month.to, asOf: now })
  })

  it("is 400 days at most, and not empty", async () => {
    const from = Date.UTC(2025, 5, 1)
    const to = from + 400 * dayMs
    assert.deepEqual(await asked(from, to), { from, to, asOf: to })
    assert.deepEqual(await asked(from, to + 1), [
      "from: The window is longer than 400 days: ask for parts of it, they add up"
    ])
    for (const end of [from, from - 1]) {
      assert.deepEqual(await asked(from, end), ["from: Expected an instant before `to`"])
    }
  })
})
