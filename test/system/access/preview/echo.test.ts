/**
 * A WebSocket server in a Sandbox echoes 1 GiB through a preview, and the memory of the process between does not grow.
 */
import { once } from "node:events"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { build } from "esbuild"
import { describe } from "vitest"
import { WebSocket } from "ws"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { newSandboxOf } from "../../../support/SandboxCalls.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

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

/** Retries until the program listens: before that the upgrade is answered with a page. */
const connected = async (port: number, host: string): Promise<WebSocket> => {
  for (const end = Date.now() + 120_000; ; ) {
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

/** Resident bytes beyond those after the first part. */
const echo = (socket: WebSocket, residentBytes: () => number): Promise<number> =>
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
        const now = residentBytes()
        if (received <= warmBytes) warm = Math.max(warm, now)
        else most = Math.max(most, now)
      }
      if (received === totalBytes) resolve(most - warm)
      else pump()
    })
    pump()
  })

const settings = {
  ATOLL_VOLUME_BYTES: String(64 * MiB),
  ATOLL_SANDBOX_MEMORY_BYTES: String(512 * MiB)
}

describe.skipIf(skipped(unusable))("a WebSocket echo in a preview", () => {
  layer(ServedAtoll.layer(freshDriver(settings), settings).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true,
    timeout: 240_000
  })((it) => {
    it.effect(
      "carries 1 GiB both ways with flat memory",
      () =>
        Effect.gen(function* () {
          const atoll = yield* ServedAtoll
          const code = yield* bundle
          const hostname = yield* Effect.promise(async () => {
            const { ask, start, write } = await newSandboxOf(atoll, { networkEnabled: true })
            await write("echo.cjs", code)
            await start("/opt/atoll/node", "/workspace/echo.cjs")
            return (await ask("POST", "/previews", 201, { port: insidePort })).preview.hostname as string
          })
          const socket = yield* Effect.acquireRelease(
            Effect.promise(() => connected(atoll.port, hostname)),
            (open) => Effect.sync(() => open.removeAllListeners("close").terminate())
          )
          const growth = yield* Effect.promise(() => echo(socket, atoll.residentBytes))
          assert.isBelow(growth, growthMaxBytes, `${Math.round(growth / MiB)} MiB more`)
        }).pipe(Effect.scoped),
      // Over a fleet each byte goes through six processes.
      900_000
    )
  })
})
