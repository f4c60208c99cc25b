/** The Python library against the real service, with real programs inside: each method in both manners. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { cuttingProxy } from "../../../support/clients/CuttingProxy.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testFolder } from "../../../support/testFolder.ts"
import { pythonObstacle, runPython, writeProgram } from "./Python.ts"
import { runWhole, wholeSettings } from "./whole.ts"

describe.skipIf(skipped(unusable ?? pythonObstacle))("the Python library", () => {
  layer(ServedAtoll.layer(freshDriver(wholeSettings), wholeSettings).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("does the whole job in both manners: Sandboxes, commands, files, previews, events, errors", () =>
      Effect.gen(function* () {
        const served = yield* ServedAtoll
        const folder = yield* testFolder
        yield* Effect.promise(() => runWhole(served, folder, "library"))
      })
    )

    it.effect("does nothing twice and misses nothing over connections that are cut at random bytes", () =>
      Effect.gen(function* () {
        const served = yield* ServedAtoll
        const folder = yield* testFolder
        const proxy = yield* cuttingProxy(20261122)
        proxy.to = served.port
        // An event of an output stream has at most 64 KiB, in base64; a turn writes 180 kB of it, and is cut at least once.
        proxy.cutWithin = 150_000
        const environment = { ATOLL_URL: `http://127.0.0.1:${proxy.port}`, ATOLL_API_KEY: served.key }
        const programs = Object.values(writeProgram(folder, "cut")).map((path) => runPython(path, environment).ended)
        yield* Effect.promise(() => Promise.all(programs))
        assert.isAtLeast(proxy.cuts(), 6)
      })
    )
  })
})
