/** The customer's command line over a service that is killed while a command runs. */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { newSecret } from "../../../../src/account/ApiKeySecret.ts"
import { cuttingProxy } from "../../../support/clients/CuttingProxy.ts"
import { skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { serviceIn } from "../../../support/ServiceIn.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testFolder } from "../../../support/testFolder.ts"
import { customerAt } from "./Customer.ts"

const counting = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo $i; sleep 0.01; done; exit 6"

it.live.skipIf(skipped(unusable))(
  "loses and doubles nothing of what a command writes and reads, and gives up when it is interrupted",
  () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const folder = yield* testFolder
      const key = newSecret()
      const service = yield* serviceIn(join(folder, "data"), key, { DATABASE_URL: url })
      const proxy = yield* cuttingProxy(20261122)
      const first = yield* service.start
      proxy.to = first.port
      mkdirSync(join(folder, "home"))
      const { answer, start } = customerAt(join(folder, "home"), { url: `http://127.0.0.1:${proxy.port}`, key })
      const runs = yield* Effect.promise(async () => {
        await answer("sandbox", "create", "--name", "dev")
        const output = start(["run", "-s", "dev", "--", "sh", "-c", counting])
        const input = start(["run", "-s", "dev", "--", "cat"], { input: null })
        input.child.stdin.write("before\n")
        await Promise.all([output.hasSaid("\n20\n"), input.hasSaid("before\n")])
        proxy.to = null
        first.child.kill("SIGKILL")
        proxy.cutAll()
        input.child.stdin.write("meanwhile\n")
        return { output, input }
      })
      const second = yield* service.start
      proxy.to = second.port
      yield* Effect.promise(async () => {
        const { output, input } = runs
        await input.hasSaid("meanwhile\n")
        input.child.stdin.end("after\n")
        const [counted, read] = await Promise.all([output.ended, input.ended])
        const all = Array.from({ length: 300 }, (_, at) => `${at + 1}\n`).join("")
        assert.deepStrictEqual([counted.code, counted.stdout], [6, all])
        assert.deepStrictEqual([read.code, read.stdout], [0, "before\nmeanwhile\nafter\n"])

        // Away for good.
        const left = start(["run", "-s", "dev", "--", "sh", "-c", "echo up; sleep 600"])
        await left.hasSaid("up\n")
        proxy.to = null
        proxy.cutAll()
        // Signals that come at once may arrive as one.
        const asking = setInterval(() => left.child.kill("SIGINT"), 300)
        assert.strictEqual((await left.ended).code, 130)
        clearInterval(asking)
      })
    }).pipe(Effect.scoped, Effect.provide(TestDatabase.bare))
)
