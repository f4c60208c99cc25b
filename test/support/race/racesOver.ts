/** Random interleavings over a file's own database, and the report of a failed one. */
import { ManagedRuntime } from "effect"
import fc from "fast-check"
import { afterAll, beforeAll } from "vitest"
import { askedRuns } from "../seededRuns.ts"
import { TestDatabase } from "../TestDatabase.ts"
import { Connections, type DatabaseContext } from "./Connections.ts"
import { RaceRun } from "./RaceRun.ts"
import type { Step } from "./steps.ts"

const { runs: runsAsked, replay: asked } = askedRuns("ATOLL_RACE")

/** How long a counterexample is shrunk. */
const shrinkWithinMs = 30_000

/**
 * Registers the database's set-up with the test file. `check` tries `runs` sequences, and on a slow machine fewer: none begins after `newRunsForMs`.
 * `npm run test:race` asks for a number of them, however long they take.
 */
export const racesOver = ({ runs, newRunsForMs }: { readonly runs: number; readonly newRunsForMs: number }) => {
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

  const run = (list: ReadonlyArray<Step>) => RaceRun.of(database, connections, list)

  /**
   * @param title Of the test in test/system/race that repeats a failure.
   * @param ownRuns How many sequences of this one.
   */
  const check = async (title: string, arbitrary: fc.Arbitrary<ReadonlyArray<Step>>, ownRuns = runs) => {
    let firstFailureAt: number | null = null
    const begun = Date.now()
    let tried = 0
    const property = fc.asyncProperty(arbitrary, async (list) => {
      if (firstFailureAt !== null && Date.now() - firstFailureAt > shrinkWithinMs) return
      if (firstFailureAt === null && runsAsked === undefined && Date.now() - begun > newRunsForMs) return
      tried++
      try {
        await run(list)
      } catch (error) {
        if (firstFailureAt === null) {
          firstFailureAt = Date.now()
          process.stderr.write(`${title}: ${(error as Error).message}\nMaking it smaller …\n`)
        }
        throw error
      }
    })
    const details = await fc.check(property, {
      numRuns: runsAsked ?? ownRuns,
      ...asked
    })
    if (!details.failed) {
      process.stdout.write(`${title}: ${tried} sequences in ${Math.round((Date.now() - begun) / 1000)} s\n`)
      return
    }
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

  return { check, run }
}
