/**
 * A service is frozen at one of its effects, and woken beside the one that took its actors over: a sample of all effects, another one each time.
 * `sweep.ts --strike freeze` has the whole sweep.
 */
import { assert, describe, it } from "vitest"
import type { Reference } from "../../support/crash/effects/CrashRun.ts"
import { noFence, stopsAny } from "../../support/crash/effects/frozenPlants.ts"
import type { Plant } from "../../support/crash/effects/plants.ts"
import { scenarios } from "../../support/crash/effects/scenarios/every.ts"
import { sweepOver } from "../../support/crash/effects/sweepOver.ts"

const seed = Date.now() % 1_000_000
const secondMax = 30

describe("a service that is frozen and woken", () => {
  const { run, reference } = sweepOver()
  const scenario = scenarios.find(({ name }) => name === "stop and start")!
  let found: Promise<Reference> | null = null
  const whole = () => (found ??= reference(scenario, "freeze"))

  it("changes nothing that the next one has done, and says nothing untrue", async () => {
    const { effects } = await whole()
    const at = effects[seed % effects.length]!
    const second = seed % 2 === 0 ? null : 1 + (seed % secondMax)
    const again = `npx node test/system/crash/sweep.ts --strike freeze --only "${scenario.name}" --at "${at}" --second ${second ?? 0}`
    const { faults } = await run({ scenario, at, second, reference: await whole(), strike: "freeze" })
    assert.deepStrictEqual(faults, [], again)
  })

  const planted: ReadonlyArray<readonly [what: string, plant: Plant, at: string, says: RegExp]> = [
    ["a takeover that does not fence", noFence, "before commit RUNTIME_UP #1", /never goes back/],
    ["a stop of another generation", stopsAny, "before stop #1", /does not end as/]
  ]
  it.each(planted)("a sweep finds %s", async (_, plant, at, says) => {
    const { faults, wasStruck } = await run({ scenario, at, reference: await whole(), strike: "freeze", plant })
    assert.isTrue(wasStruck)
    assert.match(faults.join("\n"), says)
  })
})
