/** Previews by the TypeScript library, which needs no name service for them. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo } from "node:net"
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls"
import { assert, describe, layer, it as plainIt } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { WebSocketServer } from "ws"
import { Atoll, AtollError, ConnectionError } from "../../../../clients/typescript/src/index.ts"
import { previewFetch } from "../../../../clients/typescript/src/node/previewRequest.ts"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { selfSigned } from "../../../support/selfSigned.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testFolder } from "../../../support/testFolder.ts"

const answer = (request: IncomingMessage, response: ServerResponse): void => {
  if (request.url === "/moved") {
    response.writeHead(303, { location: "/here?from=moved" }).end()
    return
  }
  let body = ""
  request.on("data", (chunk) => {
    body += chunk
  })
  request.on("end", () => {
    response.writeHead(request.url === "/missing" ? 404 : 200, { "set-cookie": ["a=1", "b=2"] })
    response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }))
  })
}

/** What listens in the Sandbox: it answers with what it was asked, and echoes messages. */
const program = () => {
  const server = createServer(answer)
  const sockets = new WebSocketServer({ server, handleProtocols: (offered) => [...offered][0] ?? false })
  sockets.on("connection", (socket) => {
    socket.on("message", (data: Buffer, isBinary) => socket.send(data, { binary: isBinary }))
  })
  return server
}

class World extends Context.Service<World, SimulatedWorld>()("atoll/test/previews/World") {}

const served = ServedAtoll.layer(Layer.effect(Runtime, Effect.map(World, simulatedRuntime))).pipe(
  Layer.provideMerge(Layer.effect(World, SimulatedWorld.make)),
  Layer.provideMerge(TestDatabase.layer)
)

interface At {
  readonly id: string
  readonly port: number
  readonly atoll: Atoll
}

/** A Sandbox in which the program listens on port 3000. */
const withProgram = (use: (at: At) => Promise<void>) =>
  Effect.gen(function* () {
    const { port, key, newSandbox } = yield* ServedAtoll
    const world = yield* World
    const id = yield* Effect.promise(() => newSandbox(key, { networkEnabled: true }))
    const server = program()
    world.machines.get(id)!.listeners.set(3000, (stream) => void server.emit("connection", stream))
    const atoll = new Atoll({ url: `http://127.0.0.1:${port}`, apiKey: key })
    yield* Effect.promise(() => use({ id, port, atoll }))
  })

const failed = async (call: Promise<unknown>): Promise<Error> => {
  try {
    await call
  } catch (thrown) {
    return thrown as Error
  }
  throw new Error("It did not fail.")
}

layer(served, { excludeTestServices: true })("a preview, by the library", (it) => {
  it.effect("is fetched by way of the API's address, under its own name and without the API key", () =>
    withProgram(async ({ id, atoll, port }) => {
      const sandbox = await atoll.sandboxes.get(id)
      const preview = await sandbox.previews.open(3000, { withinSeconds: 0 })
      const { host } = new URL(preview.url)
      const got = await preview.fetch("/here?a=1", { headers: { cookie: "c=d" } })
      const said = (await got.json()) as { method: string; url: string; headers: object }
      assert.deepStrictEqual(
        [got.status, got.url, said.method, said.url],
        [200, `${preview.url}here?a=1`, "GET", "/here?a=1"]
      )
      assert.deepInclude(said.headers, { host, cookie: "c=d" })
      assert.notProperty(said.headers, "authorization")
      assert.deepStrictEqual(got.headers.getSetCookie(), ["a=1", "b=2"])

      const posted = await preview.fetch(new URL("/form", preview.url), {
        method: "POST",
        body: new URLSearchParams({ x: "1" })
      })
      assert.deepInclude(await posted.json(), { method: "POST", body: "x=1" })
      const stream = new ReadableStream({
        start: (controller) => {
          controller.enqueue(new TextEncoder().encode("in pieces"))
          controller.close()
        }
      })
      const streamed = await (await preview.fetch("/", { method: "PUT", body: stream })).json()
      assert.deepInclude(streamed, { method: "PUT", body: "in pieces" })

      const moved = await preview.fetch("/moved", { method: "POST", body: "x" })
      assert.deepStrictEqual([moved.redirected, moved.url], [true, `${preview.url}here?from=moved`])
      assert.deepInclude(await moved.json(), { method: "GET", body: "" })
      const stayed = await preview.fetch("/moved", { redirect: "manual" })
      assert.deepStrictEqual([stayed.status, stayed.headers.get("location")], [303, "/here?from=moved"])
      assert.strictEqual((await preview.fetch("/missing")).status, 404)

      const elsewhere = await failed(preview.fetch(`http://127.0.0.1:${port}/api/v2/me`))
      assert.instanceOf(elsewhere, TypeError)
      assert.match(elsewhere.message, /no path of the API's origin: pages there would share cookies/)
      const ended = new AbortController()
      ended.abort(new Error("enough"))
      assert.strictEqual((await failed(preview.fetch("/", { signal: ended.signal }))).message, "enough")

      await preview.close()
      assert.strictEqual((await preview.fetch("/")).status, 404)
    })
  )

  it.effect("carries a WebSocket by whole messages", () =>
    withProgram(async ({ id, atoll }) => {
      const sandbox = await atoll.sandboxes.get(id)
      const preview = await sandbox.previews.open(3000, { withinSeconds: 0 })
      await using socket = await preview.webSocket("/ws", { protocols: ["chat", "other"] })
      assert.strictEqual(socket.protocol, "chat")
      const large = new Uint8Array(300_000).fill(7)
      const sent = ["hello", "", new Uint8Array([1, 2, 3]), "x".repeat(200_000), large]
      for (const message of sent) await socket.send(message)
      const came: Array<unknown> = []
      for await (const message of socket.messages()) if (came.push(message) === sent.length) break
      assert.deepStrictEqual(came, sent)
      await socket.close()
      assert.strictEqual((await socket.closed).code, 1000)
      assert.instanceOf(await failed(socket.send("late")), ConnectionError)

      const nothing = await sandbox.previews.open(3999, { alongside: true, withinSeconds: 0 })
      const refused = await failed(nothing.webSocket())
      assert.instanceOf(refused, ConnectionError)
      assert.match(refused.message, /answered with 502\. Nothing listens yet/)
    })
  )

  it.effect("is found again by its port, and stands beside others", () =>
    withProgram(async ({ id, atoll }) => {
      const { previews } = await atoll.sandboxes.get(id)
      const first = await previews.open(3000, { withinSeconds: 0 })
      const second = await previews.open(3001, { alongside: true, withinSeconds: 0 })
      assert.deepStrictEqual([(await previews.get(3000)).url, (await previews.get(3001)).url], [first.url, second.url])
      const exists = await failed(previews.open(3002))
      assert.isTrue(exists instanceof AtollError && exists.is("PREVIEW_EXISTS"))
      const none = await failed(previews.get(3002))
      assert.isTrue(none instanceof AtollError && none.is("NOT_FOUND"))
    })
  )
})

describe("a preview behind TLS", () => {
  plainIt.live("is asked for by its name in the handshake", () =>
    Effect.gen(function* () {
      const folder = yield* testFolder
      const { cert, key } = selfSigned(folder, "previews", ["DNS:*.preview.example.org"])
      const server = createTlsServer({ cert, key }, (request, response) =>
        response.end(
          JSON.stringify([(request.socket as TLSSocket & { servername: unknown }).servername, request.headers.host])
        )
      )
      yield* Effect.promise(() => new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve)))
      const trusted = getCACertificates("default")
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          setDefaultCACertificates(trusted)
          server.close()
        })
      )
      setDefaultCACertificates([...trusted, cert])
      const { port } = server.address() as AddressInfo
      const url = new URL("https://abc.preview.example.org/")
      const got = yield* Effect.promise(() => previewFetch({ api: new URL(`https://127.0.0.1:${port}`), url }))
      assert.deepStrictEqual(yield* Effect.promise(() => got.json()), [
        "abc.preview.example.org",
        "abc.preview.example.org"
      ])
    }).pipe(Effect.scoped)
  )
})
