/** Every method of the Python library, in both manners, against a service that is killed in its middle and started again. */
import { once } from "node:events"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { newSecret } from "../../../../src/account/ApiKeySecret.ts"
import { type CuttingProxy, cuttingProxy } from "../../../support/clients/CuttingProxy.ts"
import { skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { serviceIn } from "../../../support/ServiceIn.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testFolder } from "../../../support/testFolder.ts"
import { pythonObstacle, runPython, writeProgram } from "./Python.ts"

/** The two ways in which an answer does not come, each in one of the library's manners. */
const rounds = [
  ["async", "answers are lost"],
  ["sync", "nothing is asked"]
] as const

/** Until nothing more is asked, nor answered; not for long. */
const quiet = async (proxy: CuttingProxy): Promise<void> => {
  let before = ""
  for (let turn = 0; turn < 10; turn++) {
    const now = JSON.stringify(proxy.held())
    if (now === before) return
    before = now
    await sleep(300)
  }
}

describe.skipIf(skipped(unusable ?? pythonObstacle))("the Python library over a service that is killed", () => {
  it.live("does nothing twice and loses nothing, in the middle of each method", () =>
    Effect.gen(function* () {
      const folder = yield* testFolder
      const key = newSecret()
      const { url } = yield* TestDatabase
      const settings = { DATABASE_URL: url, ATOLL_SERVICE_ACCESS: "on" }
      const { start } = yield* serviceIn(join(folder, "data"), key, settings)
      const proxy = yield* cuttingProxy(20261122)
      let service = yield* start
      proxy.to = service.port
      const paths = writeProgram(folder, "killed")
      for (const [manner, how] of rounds) {
        const environment = { ATOLL_URL: `http://127.0.0.1:${proxy.port}`, ATOLL_API_KEY: key, MANNER: manner }
        const { child, said, ended } = yield* Effect.acquireRelease(
          Effect.sync(() => runPython(paths[manner], environment)),
          (program) => Effect.sync(() => program.child.kill("SIGKILL"))
        )
        yield* Effect.promise(async () => {
          await Promise.race([ended, once(child.stdout!, "data")])
          proxy.isHolding = true
          if (how === "nothing is asked") service.child.kill("SIGSTOP")
          child.stdin!.write("now\n")
          await quiet(proxy)
          const exited = once(service.child, "exit")
          service.child.kill("SIGKILL")
          await exited
          proxy.to = null
          proxy.isHolding = false
        })
        service = yield* start
        proxy.to = service.port
        yield* Effect.promise(() => ended)
        assert.strictEqual(said(), "READY\n")
      }
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer))
  )
})
