/**
 * Random interleavings of everything that clients, machines, crashes and a second service can do to Sandboxes and
 * operations.
 * npm run test:race -- --runs 10000            more of them
 * npm run test:race -- --seed=S --path P       a failed run again
 * @source design.md "Races that must hold"
 */

import { describe, it } from "vitest"
import { onceFailed } from "../../support/race/onceFailed.ts"
import { racesOver } from "../../support/race/racesOver.ts"
import { steps, stepsOfBuilds, stepsOfCopies, stepsOfTwo } from "../../support/race/steps.ts"

describe("races", () => {
  const { check, run } = racesOver({ runs: 500, newRunsForMs: 25_000 })
  it.each(onceFailed)("%s", (_, list) => run(list), 300_000)
  it("one service", () => check("one service", steps), 3_600_000)
  it("copies of volumes", () => check("copies of volumes", stepsOfCopies, 100), 3_600_000)
  it("builds of images", () => check("builds of images", stepsOfBuilds, 100), 3_600_000)
  it("two services", () => check("two services", stepsOfTwo), 3_600_000)
})
