/** The library's WebSocket over node:http against servers that are silent, broken, or none of ours. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import type { Duplex } from "node:stream"
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { type WebSocket, WebSocketServer } from "ws"
import { UnreadableAnswer } from "../../../../clients/typescript/src/errors.ts"
import { nodeSocket } from "../../../../clients/typescript/src/node/nodeSocket.ts"
import { HandshakeRefused, type SocketEnd } from "../../../../clients/typescript/src/socket/MessageSocket.ts"

const protocol = "atoll.terminal"

describe("a WebSocket over node:http", () => {
  let server: Server
  const open = new Set<Duplex>()

  beforeEach(async () => {
    server = createServer()
    server.on("connection", (socket) => open.add(socket))
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
  })

  afterEach(() => {
    vi.useRealTimers()
    for (const socket of open) socket.destroy()
    server.close()
  })

  const opened = async (signal = new AbortController().signal) => {
    const told: Array<string | Uint8Array> = []
    let isClosed: (end: SocketEnd) => void = () => {}
    const closed = new Promise<SocketEnd>((resolve) => {
      isClosed = resolve
    })
    const { port } = server.address() as AddressInfo
    const socket = await nodeSocket(
      {
        url: new URL(`http://127.0.0.1:${port}/api`),
        protocol,
        secret: "secret",
        userAgent: "test",
        signal,
        ask: () => Promise.reject(new Error("It is known without that."))
      },
      { bytes: (bytes) => void told.push(bytes), text: (text) => void told.push(text), closed: isClosed }
    )
    return { socket, told, closed }
  }

  /** Both ends of one. */
  const connected = async () => {
    const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => protocol })
    const taken = new Promise<readonly [WebSocket, IncomingMessage]>((resolve) => {
      server.once("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) =>
        sockets.handleUpgrade(request, socket, head, (other) => resolve([other, request]))
      )
    })
    const client = await opened()
    const [other, request] = await taken
    return { ...client, other, request }
  }

  it("sends its secret as Authorization, and closes in order with the code of who began", async () => {
    const { socket, told, closed, other, request } = await connected()
    assert.deepInclude(request.headers, { authorization: "Bearer secret", "sec-websocket-protocol": protocol })
    assert.strictEqual(request.url, "/api")
    other.send("before anybody reads")
    other.ping("are you there")
    const pong = once(other, "pong")
    socket.resume()
    assert.strictEqual(String((await pong)[0]), "are you there")
    assert.deepStrictEqual(told, ["before anybody reads"])
    other.close(1001, "The service stops.")
    assert.deepStrictEqual(await closed, { code: 1001, reason: "The service stops." })
    socket.send("nobody hears this")

    const own = await connected()
    const [code] = await Promise.all([once(own.other, "close").then(([code]) => code), own.socket.close()])
    assert.deepStrictEqual([code, await own.closed], [1000, { code: 1000, reason: "" }])
  })

  it("counts a service as gone that says nothing for long, and says that it is there while it reads nothing", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] })
    const silent = await connected()
    silent.socket.resume()
    vi.advanceTimersByTime(80_000)
    silent.other.ping()
    await once(silent.other, "pong")
    vi.advanceTimersByTime(80_000)
    assert.strictEqual(silent.other.readyState, silent.other.OPEN)
    vi.advanceTimersByTime(30_000)
    assert.deepStrictEqual(await silent.closed, { code: null, reason: "Nothing was heard for 90 s." })

    const idle = await connected()
    idle.socket.pause()
    const pong = once(idle.other, "pong")
    vi.advanceTimersByTime(600_000)
    await pong
    assert.strictEqual(idle.other.readyState, idle.other.OPEN)
  })

  it("says what was wrong with what it got", async () => {
    const { socket, closed, other } = await connected()
    socket.resume()
    const ended = once(other, "close")
    ;(other as unknown as { readonly _socket: Duplex })._socket.write(Buffer.from([0xc1, 0]))
    assert.deepStrictEqual(await closed, { code: null, reason: "The server sent a frame of an extension." })
    assert.strictEqual((await ended)[0], 1002)
  })

  it("gives the answer of who refuses, and takes nobody for the service who is not", async () => {
    server.on("request", (_, answer) => answer.writeHead(403, { "retry-after": "3" }).end("no"))
    const refused = await opened().then(null, (thrown: unknown) => thrown)
    assert.instanceOf(refused, HandshakeRefused)
    const { answer } = refused as HandshakeRefused
    assert.deepStrictEqual([answer.status, answer.headers.get("retry-after"), await answer.text()], [403, "3", "no"])

    server.on("upgrade", (_: IncomingMessage, socket: Duplex) =>
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: wrong\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`
      )
    )
    assert.instanceOf(await opened().then(null, (thrown: unknown) => thrown), UnreadableAnswer)
  })

  it("ends the handshake with its signal", async () => {
    server.on("upgrade", () => {})
    const controller = new AbortController()
    const opening = opened(controller.signal).then(null, (thrown: unknown) => thrown)
    await once(server, "upgrade")
    controller.abort(new Error("enough"))
    assert.strictEqual(await opening, controller.signal.reason)
  })
})
