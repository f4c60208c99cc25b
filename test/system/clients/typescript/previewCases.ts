/** The cases of killed.test.ts that use an open preview: one Sandbox for all of them. */
import { assert } from "vitest"
import { ConnectionError, ConnectionLost, type SandboxHandle } from "../../../../clients/typescript/src/index.ts"

interface World {
  readonly another: () => Promise<SandboxHandle>
  readonly now: () => Promise<void>
  readonly back: () => Promise<unknown>
}

const lost = async (call: Promise<unknown>): Promise<void> => {
  const thrown = await call.then(
    () => null,
    (thrown: unknown) => thrown
  )
  assert.instanceOf(thrown, ConnectionLost)
}

const allOf = async (things: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of things);
}

/** Sends each short message of a WebSocket back. */
const webSocketEcho = `
  const server = require("http").createServer((_, answer) => answer.end("hello")).listen(4001)
  server.on("upgrade", (asked, socket) => {
    const key = asked.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    const accept = require("crypto").createHash("sha1").update(key).digest("base64")
    socket.on("error", () => {})
    socket.write("HTTP/1.1 101 x\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: " + accept + "\\r\\n\\r\\n")
    socket.on("data", (frame) => {
      const payload = frame.subarray(6).map((byte, at) => byte ^ frame[2 + (at % 4)])
      socket.write(Buffer.concat([Buffer.from([frame[0], payload.length]), payload]))
      if ((frame[0] & 15) === 8) socket.end()
    })
  })`

const previewed = new WeakMap<World, Promise<SandboxHandle>>()

/** One Sandbox for all that only use a preview: of port 4001, where that program listens. */
const ofPreview = (world: World): Promise<SandboxHandle> => {
  const known = previewed.get(world)
  if (known !== undefined) return known
  const made = (async () => {
    const sandbox = await world.another()
    await sandbox.start(["node", "-e", webSocketEcho])
    await sandbox.previews.open(4001)
    return sandbox
  })()
  previewed.set(world, made)
  return made
}

const previewOf = async (world: World) => (await ofPreview(world)).previews.get(4001)
const socketOf = async (world: World) => (await previewOf(world)).webSocket("/")

/** It ends with the service's connections: that it did not come is said, or it came. */
const answeredOrLost = async (call: Promise<unknown>): Promise<void> => {
  try {
    await call
  } catch (thrown) {
    if (!(thrown instanceof ConnectionError)) throw thrown
  }
}

export const previewCases: Readonly<Record<string, (world: World) => Promise<void>>> = {
  "Previews.get": async (world) => {
    const { id } = await previewOf(world)
    await world.now()
    assert.strictEqual((await previewOf(world)).id, id)
  },
  "Preview.fetch": async (world) => {
    const preview = await previewOf(world)
    await world.now()
    await answeredOrLost(preview.fetch("/"))
    await world.back()
    assert.strictEqual(await (await preview.fetch("/")).text(), "hello")
  },
  "Preview.webSocket": async (world) => {
    const preview = await previewOf(world)
    await world.now()
    await answeredOrLost(preview.webSocket("/"))
    await world.back()
    await (await preview.webSocket("/")).close()
  },
  "PreviewSocket.send": async (world) => {
    const socket = await socketOf(world)
    await world.now()
    await answeredOrLost(socket.send("hello"))
    await world.back()
    await lost(socket.send("more"))
  },
  "PreviewSocket.messages": async (world) => {
    const socket = await socketOf(world)
    await world.now()
    await lost(allOf(socket.messages()))
  },
  "PreviewSocket.close": async (world) => {
    const socket = await socketOf(world)
    await world.now()
    await socket.close()
    await lost(socket.send("more"))
  },
  "PreviewSocket.asyncDispose": async (world) => {
    const socket = await socketOf(world)
    await world.now()
    await socket[Symbol.asyncDispose]()
    await lost(socket.send("more"))
  }
}
