/** The Python library against the real service, with real programs inside: each method in both manners. */
import { describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { freshDriver, skipped, unusable } from "../../host/namespace/TestHost.ts"
import { freePort } from "../../support/freePort.ts"
import { ServedAtoll } from "../../support/ServedAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testFolder } from "../../support/testFolder.ts"
import { pythonObstacle, runProgram, writeProgram } from "./Python.ts"

const settings = {
  ATOLL_VOLUME_BYTES: String(128 * 1024 ** 2),
  ATOLL_SERVICE_ACCESS: "on",
  ATOLL_COOPERATIVE: "on",
  ATOLL_SSH_PORT: "0"
}

describe.skipIf(skipped(unusable ?? pythonObstacle))("the Python library", () => {
  layer(ServedAtoll.layer(freshDriver(settings), settings).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("does the whole job in both manners: Sandboxes, commands, files, previews, events, errors", () =>
      Effect.gen(function* () {
        const served = yield* ServedAtoll
        const folder = yield* testFolder
        const whole = async ([manner, path]: [string, string]) =>
          runProgram(path, {
            ATOLL_URL: `http://127.0.0.1:${served.port}`,
            ATOLL_API_KEY: served.key,
            NARROW_KEY: (await served.newKey(["usage:read"])).secret,
            SPARE_KEY: (await served.newKey(["sandbox:read"])).secret,
            NOBODYS_PORT: String(await freePort()),
            MANNER: manner
          }).ended
        yield* Effect.promise(() => Promise.all(Object.entries(writeProgram(folder, "whole")).map(whole)))
      })
    )
  })
})
