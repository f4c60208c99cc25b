/**
 * Random lives of an account on a simulated clock: ledger = wallet = costs = one fold at the end, exactly, after every
 * step.
 * npm run test:money -- --runs 10000            more of them
 * npm run test:money -- --seed=S --path P       a failed run again
 */
import assert from "node:assert/strict"
import { describe, it } from "vitest"
import { total } from "../../../src/wallet/Cost.ts"
import { costOf } from "../../support/wallet/Witness.ts"
import { MemoryLedger } from "./MemoryLedger.ts"
import { MoneyRun } from "./MoneyRun.ts"
import { checkScenarios, runs } from "./replay.ts"

const day = 24 * 60 * 60 * 1000

/** What would be left at an instant if everything were posted then. */
const leftAt = async (ledger: MemoryLedger, at: number): Promise<bigint> => {
  const copy = ledger.copy()
  copy.now(at)
  copy.settleNow(at)
  return (await copy.books()).wallet.balanceMicroUsd
}

describe("money", () => {
  it(
    "in memory",
    () =>
      checkScenarios("in memory", runs(1000), 60, async (scenario) => {
        const ledger = new MemoryLedger("acc")
        const run = new MoneyRun(ledger, scenario, "acc")
        await run.run()
        const { meters, cards, segments } = await ledger.books()
        const truth = meters.reduce(
          (sum, meter) => sum + total(costOf(run.logs.get(meter.sandboxId)!, meter.at, cards)),
          0n
        )
        assert.equal(
          segments.reduce((sum, { cost }) => sum + total(cost), 0n),
          truth
        )
      }),
    3_600_000
  )

  it(
    "plans",
    () =>
      checkScenarios("plans", runs(1000), 30, async (scenario) => {
        const ledger = new MemoryLedger("acc")
        const run = new MoneyRun(ledger, scenario, "acc")
        await run.run()
        const start = scenario.steps.reduce((at, step) => (step.type === "wait" ? at + step.ms : at), scenario.startAt)
        const { meters, grants } = await ledger.books()
        if (meters.some(({ at, closedAt }) => closedAt === null && at > start)) return
        const { exhaustedAt } = ledger.planNow(false)
        const rough = ledger.planNow(true).exhaustedAt
        if (exhaustedAt === null || exhaustedAt > start + 90 * day) {
          if ((await leftAt(ledger, start)) > 0n) assert.ok((await leftAt(ledger, start + 30 * day)) > 0n, "it lasts")
          return
        }
        assert.ok((await leftAt(ledger, exhaustedAt)) <= 0n, "nothing is left from then on")
        if (exhaustedAt > start) assert.ok((await leftAt(ledger, exhaustedAt - 1)) > 0n, "something is left until then")
        if (rough === null || rough > start + 400 * day) return
        if (grants.some(({ remainingMicroUsd, expiresAt }) => remainingMicroUsd > 0n && expiresAt !== null)) return
        assert.ok(rough >= exhaustedAt, "of the sums it is not planned too early")
      }),
    3_600_000
  )
})
