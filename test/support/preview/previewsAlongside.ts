/** The property of previews that are open together, for a short test and for a long one. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import fc from "fast-check"
import { TestApi } from "../http/TestApi.ts"
import type { ShiftedClock } from "../ShiftedClock.ts"
import { AlongsideRun } from "./AlongsideRun.ts"
import { rounds } from "./alongsideSteps.ts"

/** `runs`: how many lists of rounds are tried; ATOLL_TEST_RUNS asks for others, and ATOLL_TEST_SEED for the same again. */
export const previewsAlongside = (clock: ShiftedClock, runs: number) =>
  Effect.gen(function* () {
    const api = yield* TestApi
    const sql = yield* SqlClient.SqlClient
    const workspaceId = yield* Effect.promise(() => api.newWorkspace())
    const { secret: otherKey } = yield* Effect.promise(() => api.newKey(["sandbox:execute"], "other"))
    const property = fc.asyncProperty(rounds, async (list) => {
      const id = await api.newSandbox(workspaceId)
      const run = new AlongsideRun(api, sql, clock, { id, otherKey })
      try {
        for (const round of list) await run.round(round)
      } finally {
        await run.remove()
      }
      await run.checkEnd()
    })
    yield* Effect.promise(() =>
      fc.assert(property, {
        numRuns: Number(process.env["ATOLL_TEST_RUNS"] ?? runs),
        ...(process.env["ATOLL_TEST_SEED"] ? { seed: Number(process.env["ATOLL_TEST_SEED"]) } : {})
      })
    )
  })
