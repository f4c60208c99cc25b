/** The service is killed while models use it, over both transports: nothing is lost, and nothing is done twice. */
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { freePort } from "../../../support/freePort.ts"
import { skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { earlierClient, type McpClient, presentClient, type Told } from "../../../support/mcp/McpClients.ts"
import { serviceIn } from "../../../support/ServiceIn.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testFolder } from "../../../support/testFolder.ts"

const answered = ({ isError, answer, text }: Told) => {
  assert.isFalse(isError, text)
  return answer
}

describe.skipIf(skipped(unusable))("a service that is killed under MCP", () => {
  it.live(
    "loses nothing and does nothing twice",
    () =>
      Effect.gen(function* () {
        const { url: database } = yield* TestDatabase
        const folder = yield* testFolder
        const port = yield* Effect.promise(() => freePort())
        const key = `atoll_live_${randomBytes(32).toString("hex").slice(0, 43)}`
        const service = yield* serviceIn(folder, key, { DATABASE_URL: database, ATOLL_PORT: String(port) })
        const url = `http://127.0.0.1:${port}`
        let running = yield* service.start

        const restarted = async () => {
          running.child.kill("SIGKILL")
          await once(running.child, "exit")
          running = await Effect.runPromise(service.start)
        }
        /** Waits until the service has so many operations of the Sandbox. */
        const operations = async (sandboxId: string, count: number) => {
          while (true) {
            const { json } = await running.send("GET", `/api/v2/sandboxes/${sandboxId}/operations`)
            if (json.operations.length >= count) return json.operations
            await sleep(20)
          }
        }
        const until = "until [ -e go ]; do sleep 0.02; done; echo done"

        yield* Effect.promise(async () => {
          const stdio = await presentClient(url, key, "stdio")
          const earlier = await earlierClient(url, key, "stdio")
          const http = await presentClient(url, key)
          assert.deepStrictEqual(await earlier.names(), await http.names())

          // During the creation: the bridge repeats the request, and one Sandbox is made.
          const creating = stdio.call("create_sandbox", { name: "one", networkEnabled: false })
          await restarted()
          const { sandbox } = answered(await creating)
          const sandboxId: string = sandbox.id
          const { sandboxes } = answered(await earlier.call("list_sandboxes"))
          assert.deepStrictEqual(
            sandboxes.map(({ id, name }: { id: string; name: string }) => [id, name]),
            [[sandboxId, "one"]]
          )

          // While both wait for a command: each is started once, and each client gets its own result.
          const waiting = [stdio, earlier].map((client: McpClient, at) =>
            client.call("run", { sandboxId, command: `echo ${at}; ${until}`, waitSeconds: 30 })
          )
          await operations(sandboxId, 2)
          // The client without a bridge reports that its connection is lost.
          const lost = http.call("run", { sandboxId, command: `echo 2; ${until}`, waitSeconds: 30 }).then(
            () => null,
            (thrown: unknown) => String(thrown)
          )
          await operations(sandboxId, 3)
          await restarted()
          assert.isNotNull(await lost)
          // It finds its command without an id, and its output from the begin.
          const found = answered(await http.call("output", { sandboxId, waitSeconds: 30 }))
          assert.strictEqual(found.stdout.text, "2\n")
          answered(await http.call("write_file", { sandboxId, path: "/workspace/go", content: "" }))
          for (const [at, told] of (await Promise.all(waiting)).entries()) {
            const { operationId } = answered(told)
            let answer = answered(told)
            while (answer.status === "running") {
              answer = answered(await http.call("output", { sandboxId, operationId, waitSeconds: 30 }))
            }
            const whole = answered(await http.call("output", { sandboxId, operationId }))
            assert.deepInclude(whole, { status: "completed", exitCode: 0 })
            assert.strictEqual(whole.stdout.text, `${at}\ndone\n`)
          }
          assert.lengthOf(await operations(sandboxId, 3), 3)
          for (const client of [stdio, earlier, http]) await client.close()
        })
      }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer)),
    300_000
  )
})
