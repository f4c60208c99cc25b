/** A few of the crashes of test/system/crash/effects.test.ts, which takes another sample each time. */
import { assert, describe, it } from "vitest"
import { scenarios } from "../../support/crash/effects/scenarios/every.ts"
import { sweepOver } from "../../support/crash/effects/sweepOver.ts"

const strikes = ["after COMMIT #1", "after reply to rename #1"]

describe("a service that ends at one of its effects", () => {
  const { reference, run } = sweepOver()

  it("has done all that it answered, and answers a repetition alike", async () => {
    const scenario = scenarios.find(({ name }) => name === "workspace")!
    const found = await reference(scenario)
    for (const at of strikes) {
      const { wasStruck, faults } = await run({ scenario, at, reference: found, strike: "crash" })
      assert.isTrue(wasStruck, at)
      assert.deepStrictEqual(faults, [])
    }
  })
})
