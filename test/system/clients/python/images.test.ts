/** Images of Dockerfiles with the Python library, in both manners, against the real service on simulated machines. */
import { describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { scopes } from "../../../../schemas/Access.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { skipped } from "../../../support/host/namespace/TestHost.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { testFolder } from "../../../support/testFolder.ts"
import { pythonObstacle, runPython, writeProgram } from "./Python.ts"

describe.skipIf(isOverAFleet || skipped(pythonObstacle))("the Python library", () => {
  layer(TestApi.layer(), { excludeTestServices: true })((it) => {
    it.effect(
      "builds images of texts, directories and snapshots, with their output and each build argument, in both manners",
      () =>
        Effect.gen(function* () {
          const { newKey, port } = yield* TestApi
          const folder = yield* testFolder
          const programs = Object.values(writeProgram(folder, "images")).map(async (path) => {
            const { secret } = await newKey(scopes, crypto.randomUUID())
            return runPython(path, { ATOLL_URL: `http://127.0.0.1:${port}`, ATOLL_API_KEY: secret }).ended
          })
          yield* Effect.promise(() => Promise.all(programs))
        })
    )
  })
})
