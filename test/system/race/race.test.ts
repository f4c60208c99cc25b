/**
 * Random interleavings of everything that clients, machines, crashes and a second service can do to Sandboxes and operations.
 *
 *     npm run test:race -- --runs 10000            more of them
 *     npm run test:race -- --seed=S --path P       a failed run again
 *
 * @source design.md "Races that must hold"
 */

import { ManagedRuntime } from "effect"
import fc from "fast-check"
import { afterAll, beforeAll, describe, it } from "vitest"
import { Connections, type DatabaseContext } from "../../support/race/Connections.ts"
import { onceFailed } from "../../support/race/onceFailed.ts"
import { RaceRun } from "../../support/race/RaceRun.ts"
import { type Step, steps, stepsOfTwo } from "../../support/race/steps.ts"
import { askedRuns } from "../../support/seededRuns.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const { runs = 500, replay: asked } = askedRuns("ATOLL_RACE")

const runtime = ManagedRuntime.make(TestDatabase.layer)
let database: DatabaseContext
let connections: Connections

beforeAll(async () => {
  database = await runtime.context()
  connections = new Connections(database)
})
afterAll(async () => {
  await connections.close()
  await runtime.dispose()
})

/** A counterexample is made smaller for so long. */
const shrinkWithinMs = 30_000

const check = async (title: string, arbitrary: fc.Arbitrary<ReadonlyArray<Step>>) => {
  let firstFailureAt: number | null = null
  const property = fc.asyncProperty(arbitrary, async (list) => {
    if (firstFailureAt !== null && Date.now() - firstFailureAt > shrinkWithinMs) return
    try {
      await RaceRun.of(database, connections, list)
    } catch (error) {
      if (firstFailureAt === null) {
        firstFailureAt = Date.now()
        process.stderr.write(`${title}: ${(error as Error).message}\nMaking it smaller …\n`)
      }
      throw error
    }
  })
  const details = await fc.check(property, {
    numRuns: runs,
    ...asked
  })
  if (!details.failed) return
  const replay = `npm run test:race -- --only "${title}" --seed=${details.seed} --path "${details.counterexamplePath}"`
  const { errorInstance } = details as { readonly errorInstance?: Error }
  throw new Error(
    [
      errorInstance?.message ?? "interrupted",
      `again: ${replay}`,
      ...(details.counterexample?.[0] ?? []).map((step) => `  ${JSON.stringify(step)}`)
    ].join("\n")
  )
}

describe("races", () => {
  it.each(onceFailed)("%s", (_, list) => RaceRun.of(database, connections, list), 300_000)
  it("one service", () => check("one service", steps), 3_600_000)
  it("two services", () => check("two services", stepsOfTwo), 3_600_000)
})
