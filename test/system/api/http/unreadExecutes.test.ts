/** Executes whose answers are large and stay unread, by a real command. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { scopes } from "../../../../schemas/Access.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const small = { ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2) }

/** Two MiB of control characters, each of which is six bytes in JSON. */
const flood = "for stream in 1 2; do head -c 1048576 /dev/zero | tr '\\0' '\\1' >&$stream; done"

describe.skipIf(skipped(unusable))("executes whose answers stay unread", () => {
  layer(ServedAtoll.layer(freshDriver(small), small).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("end with 429 for their account, with any status, and other accounts go on", () =>
      Effect.flatMap(ServedAtoll, (atoll) =>
        Effect.promise(async () => {
          const other = (await atoll.newKey(scopes, "other")).secret
          const [id, otherId] = [await atoll.newSandbox(), await atoll.newSandbox(other)]
          const sockets: Array<Socket> = []
          const unread = async (script: string, timeoutSeconds: number) => {
            const body = JSON.stringify({ argv: ["sh", "-c", script], timeoutSeconds })
            const socket = connect(atoll.port, "127.0.0.1").on("error", () => {})
            sockets.push(socket)
            socket.write(
              `POST /api/v2/sandboxes/${id}/execute HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${atoll.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
            )
            const [head] = (await once(socket, "data")) as [Buffer]
            socket.pause()
            return Number(head.toString("latin1").slice(9, 12))
          }
          assert.strictEqual(await unread("true", 10), 200)
          assert.deepStrictEqual([await unread(flood, 60), await unread(flood, 60)], [200, 200])
          // A command that takes too long has its output in its failure.
          assert.strictEqual(await unread(`${flood}; exec sleep 1000`, 5), 408)
          assert.strictEqual(await unread("touch /workspace/ran", 10), 429)
          const run = (key: string, of: string) =>
            atoll.send("POST", `/api/v2/sandboxes/${of}/execute`, { key, body: { argv: ["ls", "/workspace"] } })
          assert.strictEqual((await run(other, otherId)).status, 200)
          for (const socket of sockets) socket.destroy()
          const after = await run(atoll.key, id)
          assert.deepStrictEqual([after.status, after.json.result?.stdout], [200, ""])
        })
      )
    )
  })
})
