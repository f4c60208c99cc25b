/** A hundred of the interleavings of test/system/race, which has many more. */
import { describe, it } from "vitest"
import { racesOver } from "../../support/race/racesOver.ts"
import { stepsOfTwo } from "../../support/race/steps.ts"

describe("races", () => {
  const { check } = racesOver({ runs: 100, newRunsForMs: 20_000 })
  it(
    "two services lose nothing and do nothing twice, in 100 random sequences",
    () => check("two services", stepsOfTwo),
    120_000
  )
})
