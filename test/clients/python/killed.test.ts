/** The Python library against a service that is killed and started again in the middle of what its users do. */
import { once } from "node:events"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { skipped, unusable } from "../../host/namespace/TestHost.ts"
import { serviceIn } from "../../support/ServiceIn.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testFolder } from "../../support/testFolder.ts"
import { cuttingProxy } from "../CuttingProxy.ts"
import { pythonObstacle, type Running, runProgram, writeProgram } from "./Python.ts"

const kills = 2

describe.skipIf(skipped(unusable ?? pythonObstacle))("the Python library over a service that is killed", () => {
  it.live("does nothing twice and misses nothing, in both manners", () =>
    Effect.gen(function* () {
      const folder = yield* testFolder
      const key = newSecret()
      const { url } = yield* TestDatabase
      const { start } = yield* serviceIn(join(folder, "data"), key, { DATABASE_URL: url })
      const proxy = yield* cuttingProxy(20261122)
      let service = yield* start
      proxy.to = service.port
      const programs: ReadonlyArray<Running> = Object.entries(writeProgram(folder, "killed")).map(([manner, path]) =>
        runProgram(path, { ATOLL_URL: `http://127.0.0.1:${proxy.port}`, ATOLL_API_KEY: key, MANNER: manner })
      )
      yield* Effect.addFinalizer(() => Effect.sync(() => programs.map(({ child }) => child.kill("SIGKILL"))))
      const ended = Promise.all(programs.map((program) => program.ended))
      const asked = async (count: number) => {
        const all = () => programs.every(({ said }) => said().split("KILL").length > count)
        while (!all()) await new Promise((resolve) => setTimeout(resolve, 20))
      }
      for (let kill = 1; kill <= kills; kill++) {
        yield* Effect.promise(() => Promise.race([asked(kill), ended]))
        yield* Effect.promise(async () => {
          const exited = once(service.child, "exit")
          service.child.kill("SIGKILL")
          await exited
          // A connection is refused from here on.
          proxy.to = null
        })
        service = yield* start
        proxy.to = service.port
      }
      yield* Effect.promise(() => ended)
      for (const { said } of programs) assert.strictEqual(said(), "KILL\n".repeat(kills))
    }).pipe(Effect.provide(TestDatabase.layer))
  )
})
