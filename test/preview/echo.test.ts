/** A WebSocket server that runs in a Sandbox gives back 1 GiB through a preview, and the memory of the process between stays what it was. */
import { once } from "node:events"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { build } from "esbuild"
import { describe } from "vitest"
import { WebSocket } from "ws"
import { PreviewGateway } from "../../src/preview/PreviewGateway.ts"
import { Previews } from "../../src/preview/Previews.ts"
import { Runtime } from "../../src/runtime/Runtime.ts"
import { skipped, unusable } from "../host/namespace/TestHost.ts"
import { requestIdentity, runningSandboxOf, serveGateways } from "../support/GatewayServer.ts"
import { namespaceAtoll } from "../support/NamespaceAtoll.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { upload } from "../support/upload.ts"

const MiB = 1024 ** 2
const totalBytes = 1024 * MiB
const messageBytes = 256 * 1024
const inFlightMaxBytes = 4 * MiB
const warmBytes = 128 * MiB
const growthMaxBytes = 160 * MiB
const insidePort = 3000

const program = `
import { WebSocketServer } from "ws"
new WebSocketServer({ port: ${insidePort}, host: "127.0.0.1", perMessageDeflate: false }).on("connection", (socket) => {
  socket.on("message", (data) => {
    socket.send(data, { binary: true }, () => socket.resume())
    if (socket.bufferedAmount > 1048576) socket.pause()
  })
})
`

const bundle = Effect.promise(async () => {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: import.meta.dirname, loader: "js" },
    bundle: true,
    platform: "node",
    format: "cjs",
    external: ["bufferutil", "utf-8-validate"],
    write: false,
    logLevel: "silent"
  })
  return outputFiles[0]!.contents
})

/** Tries until the program listens: before that the upgrade is answered with a page. */
const connected = async (port: number, host: string): Promise<WebSocket> => {
  for (const end = Date.now() + 30_000; ; ) {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { host }, perMessageDeflate: false })
    try {
      await once(socket, "open")
      return socket
    } catch (cause) {
      if (Date.now() > end) throw cause
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

/** Resident bytes beyond what they were after the first of it. */
const echo = (socket: WebSocket): Promise<number> =>
  new Promise((resolve, reject) => {
    let sent = 0
    let received = 0
    let warm = 0
    let most = 0
    const message = Buffer.alloc(messageBytes)
    const pump = () => {
      for (; sent < totalBytes && sent - received < inFlightMaxBytes; sent += messageBytes) {
        message.writeUInt32BE(sent / messageBytes)
        socket.send(Buffer.from(message))
      }
    }
    socket.on("close", () => reject(new Error(`Closed after ${received} bytes`)))
    socket.on("message", (data: Buffer) => {
      if (data.byteLength !== messageBytes || data.readUInt32BE() !== received / messageBytes) {
        return reject(new Error(`Something else came after ${received} bytes`))
      }
      received += data.byteLength
      if (received % (16 * MiB) === 0) {
        const now = process.memoryUsage.rss()
        if (received <= warmBytes) warm = Math.max(warm, now)
        else most = Math.max(most, now)
      }
      if (received === totalBytes) resolve(most - warm)
      else pump()
    })
    pump()
  })

describe.skipIf(skipped(unusable))("a WebSocket echo in a preview", () => {
  layer(namespaceAtoll().pipe(Layer.provideMerge(TestDatabase.layer)), { excludeTestServices: true, timeout: 240_000 })(
    (it) => {
      it.effect(
        "carries 1 GiB both ways with flat memory",
        () =>
          Effect.gen(function* () {
            const port = yield* serveGateways([yield* PreviewGateway])
            const { accountId, sandboxId } = yield* runningSandboxOf()
            const { processes, files } = yield* (yield* Runtime).guest(sandboxId, 1)
            yield* files.write("/workspace/echo.cjs", upload([yield* bundle]))
            yield* processes.start("echo", {
              argv: ["/opt/atoll/node", "/workspace/echo.cjs"],
              cwd: "/workspace",
              env: {},
              stdin: null,
              timeoutMs: null,
              output: { mode: "head", bytes: 1_000_000 }
            })
            const preview = yield* (yield* Previews).create(accountId, sandboxId, {
              ...requestIdentity,
              port: insidePort
            })
            const socket = yield* Effect.acquireRelease(
              Effect.promise(() => connected(port, preview.hostname)),
              (open) => Effect.sync(() => open.removeAllListeners("close").terminate())
            )
            const growth = yield* Effect.promise(() => echo(socket))
            assert.isBelow(growth, growthMaxBytes, `${Math.round(growth / MiB)} MiB more`)
          }).pipe(Effect.scoped),
        240_000
      )
    }
  )
})
