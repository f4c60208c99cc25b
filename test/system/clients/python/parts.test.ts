/** Parts of the Python library that need no service: harmful archives, frames, TLS, events, answers of other versions, patience. */
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { skipped } from "../../../support/host/namespace/TestHost.ts"
import { selfSigned } from "../../../support/selfSigned.ts"
import { testFolder } from "../../../support/testFolder.ts"
import { pythonObstacle, runPython, writeProgram } from "./Python.ts"

describe.skipIf(skipped(pythonObstacle))("the Python library's parts", () => {
  it.effect("keep what they promise, in both manners", () =>
    Effect.gen(function* () {
      const folder = yield* testFolder
      const { certFile, keyFile } = selfSigned(folder, "python", ["DNS:localhost"])
      const environment = { CERTIFICATE: certFile, PRIVATE_KEY: keyFile }
      const programs = Object.values(writeProgram(folder, "parts")).map((path) => runPython(path, environment).ended)
      yield* Effect.promise(() => Promise.all(programs))
    })
  )
})
