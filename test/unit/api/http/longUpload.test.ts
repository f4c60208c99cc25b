/** Bodies that may take any time: beyond node's own time limit, but not beyond a sender that falls silent. */
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { longUpload, mayBeLong } from "../../../../src/api/http/LongUpload.ts"
import { protocolServer } from "../../../../src/api/http/ProtocolServer.ts"

const timedOut = Object.assign(new Error("late"), { code: "ERR_HTTP_REQUEST_TIMEOUT" })
const patienceMs = 60_000

/** A request whose body has begun, as the server sees it. */
const begun = Effect.gen(function* () {
  const server = protocolServer()
  const asked = once(server, "request")
  yield* Effect.acquireRelease(
    Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening")),
    () => Effect.sync(() => server.close().closeAllConnections())
  )
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1")
  yield* Effect.addFinalizer(() => Effect.sync(() => client.destroy()))
  client.write("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nsome")
  const [request] = (yield* Effect.promise(() => asked)) as [IncomingMessage]
  request.on("error", () => {})
  return { server, client, request }
})

const closed = (socket: Socket | IncomingMessage) =>
  Effect.promise(async () => {
    if (!socket.destroyed) await once(socket, "close")
  })

const test = (title: string, body: Effect.Effect<void, never, Scope.Scope>) =>
  it.live(title, () => Effect.scoped(body), patienceMs)

describe("a long upload", () => {
  test(
    "is not ended by the time limit of a request, which ends any other one",
    Effect.gen(function* () {
      const { server, client, request } = yield* begun
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* longUpload(request)
          server.emit("clientError", timedOut, request.socket)
          const more = once(request, "data")
          client.write("more")
          yield* Effect.promise(() => more)
          assert.isFalse(request.socket.destroyed)
        })
      )
      const answer = once(client, "data")
      server.emit("clientError", timedOut, request.socket)
      assert.match(String((yield* Effect.promise(() => answer))[0]), /^HTTP\/1.1 408 /)
    })
  )

  test(
    "is ended when its sender falls silent",
    Effect.gen(function* () {
      const { request } = yield* begun
      request.resume()
      yield* longUpload(request, { silentMs: 50 })
      yield* closed(request)
      assert.isFalse(request.complete)
    })
  )

  test(
    "may be silent while the service does not read",
    Effect.gen(function* () {
      const { request } = yield* begun
      request.pause()
      yield* longUpload(request, { silentMs: 20 })
      yield* Effect.sleep(200)
      assert.isFalse(request.destroyed)
    })
  )

  it("is an upload of an archive, and no other request", () => {
    const at = (method: string, url: string) => mayBeLong({ method, url } as IncomingMessage)
    assert.isTrue(at("POST", "/api/v2/sandboxes/sbx_1/files/archive?path=/workspace"))
    assert.isTrue(at("POST", "/api/v2/sandboxes/sbx_1/files/archive"))
    assert.isFalse(at("GET", "/api/v2/sandboxes/sbx_1/files/archive"))
    assert.isFalse(at("POST", "/api/v2/sandboxes/sbx_1/files/archives"))
    assert.isFalse(at("POST", "/api/v2/sandboxes/x/y/files/archive"))
    assert.isFalse(at("PUT", "/api/v2/sandboxes/sbx_1/files/content?path=/files/archive"))
  })
})
