/** Previews over real HTTP connections, into programs that listen inside simulated Sandboxes. */
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingMessage, type RequestOptions, request, type Server } from "node:http"
import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { WebSocket, WebSocketServer } from "ws"
import { LiveConnections } from "../../../../src/access/gateway/LiveConnections.ts"
import { PreviewGateway } from "../../../../src/access/preview/PreviewGateway.ts"
import { Previews } from "../../../../src/access/preview/Previews.ts"
import { newSecret } from "../../../../src/account/ApiKeySecret.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { Sandboxes } from "../../../../src/sandbox/Sandboxes.ts"
import {
  apiAnswer,
  listenInside,
  requestIdentity,
  runningSandboxOf,
  serveGateways
} from "../../../support/GatewayServer.ts"
import { testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly rawHeaders: ReadonlyArray<string>
  readonly trailers: IncomingMessage["trailers"]
  readonly body: Buffer
}

const send = (port: number, host: string, options: RequestOptions = {}, body?: Buffer | null) =>
  Effect.promise<Answer>(
    () =>
      new Promise((resolve, reject) => {
        const { headers, ...rest } = options
        const sent = request(
          { host: "127.0.0.1", port, ...rest, headers: { host, ...(headers as object) } },
          (answer) => {
            const chunks: Array<Buffer> = []
            answer.on("data", (chunk: Buffer) => chunks.push(chunk))
            answer.on("error", reject)
            answer.on("end", () =>
              resolve({
                status: answer.statusCode!,
                headers: answer.headers,
                rawHeaders: answer.rawHeaders,
                trailers: answer.trailers,
                body: Buffer.concat(chunks)
              })
            )
          }
        )
        sent.on("error", reject)
        if (body) sent.write(body)
        sent.end()
      })
  )

/** Everything that a test of the gateway needs, in one scope. */
const withPreview = <A, E, R>(
  inside: Server,
  use: (at: {
    readonly port: number
    readonly host: string
    readonly id: string
    readonly accountId: string
    readonly sandboxId: string
    readonly world: SimulatedWorld
  }) => Effect.Effect<A, E, R>,
  environment: Readonly<Record<string, string>> = {}
) =>
  Effect.gen(function* () {
    const world = yield* SimulatedWorld.make
    return yield* Effect.gen(function* () {
      const port = yield* serveGateways([yield* PreviewGateway])
      const { accountId, sandboxId } = yield* runningSandboxOf()
      listenInside(world, sandboxId, 3000, inside)
      const previews = yield* Previews
      const preview = yield* previews.create(accountId, sandboxId, { ...requestIdentity, port: 3000 })
      assert.strictEqual(preview.url, `http://${preview.id}.preview.localhost:${port}/`)
      return yield* use({ port, host: preview.hostname, id: preview.id, accountId, sandboxId, world })
    }).pipe(Effect.scoped, Effect.provide(testAtoll(world, environment)))
  })

layer(TestDatabase.layer, { excludeTestServices: true })("the preview gateway", (it) => {
  it.effect("passes a request and its answer on unchanged, with the visitor's Host header", () => {
    const seen: Array<{ method: string; url: string; raw: ReadonlyArray<string>; body: string }> = []
    const inside = createServer(async (incoming, response) => {
      let body = ""
      for await (const chunk of incoming) body += chunk
      seen.push({ method: incoming.method!, url: incoming.url!, raw: incoming.rawHeaders, body })
      response.writeHead(207, "Odd", [
        ["Set-Cookie", "a=1; Path=/; Domain=preview.localhost; HttpOnly"],
        ["Set-Cookie", "b=2"],
        ["X-Twice", "1"],
        ["X-Twice", "2"],
        ["Trailer", "X-Sum"]
      ] as never)
      response.write("hello ")
      response.addTrailers({ "X-Sum": "42" })
      response.end("world")
    })
    return withPreview(inside, ({ port, host }) =>
      Effect.gen(function* () {
        const answer = yield* send(
          port,
          `${host}:${port}`,
          {
            method: "PROPFIND",
            path: "/a%20b?c=d&c=e",
            headers: {
              "X-Odd-Case": "Yes",
              connection: "close, x-hop",
              "x-hop": "gone",
              "transfer-encoding": "chunked"
            }
          },
          Buffer.from("upload")
        )
        assert.deepStrictEqual([answer.status, answer.body.toString()], [207, "hello world"])
        assert.deepStrictEqual(answer.headers["set-cookie"], ["a=1; Path=/; HttpOnly", "b=2"])
        assert.strictEqual(answer.headers["x-twice"], "1, 2")
        assert.strictEqual(answer.headers["referrer-policy"], "same-origin")
        assert.deepStrictEqual({ ...answer.trailers }, { "x-sum": "42" })
        const [got] = seen
        assert.deepStrictEqual([got!.method, got!.url, got!.body], ["PROPFIND", "/a%20b?c=d&c=e", "upload"])
        const names = got!.raw.filter((_, at) => at % 2 === 0)
        assert.includeMembers(names, ["X-Odd-Case", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"])
        assert.notIncludeMembers(names, ["x-hop"])
        const value = (name: string) => got!.raw[got!.raw.findIndex((one) => one.toLowerCase() === name) + 1]
        assert.strictEqual(value("host"), `${host}:${port}`)
        assert.deepStrictEqual(
          [value("x-forwarded-for"), value("x-forwarded-host"), value("x-forwarded-proto")],
          ["127.0.0.1", `${host}:${port}`, "http"]
        )
      })
    )
  })

  it.effect("passes on a visitor's trailers, but neither an API key nor headers that only the gateway may set", () => {
    const seen: Array<readonly [IncomingMessage["headers"], IncomingMessage["trailers"]]> = []
    const inside = createServer((incoming, response) => {
      incoming.resume().once("end", () => {
        seen.push([incoming.headers, incoming.trailers])
        response.end()
      })
    })
    return withPreview(inside, ({ port, host }) =>
      Effect.promise(async () => {
        const visit = async (authorization: string) => {
          const sent = request({
            host: "127.0.0.1",
            port,
            method: "POST",
            headers: {
              host,
              authorization,
              trailer: "X-Sum",
              "transfer-encoding": "chunked",
              forwarded: "for=10.0.0.1;proto=https",
              "x-forwarded-for": "10.0.0.1",
              "x-forwarded-host": "evil.example",
              "x-forwarded-port": "443",
              "x-forwarded-proto": "https",
              "x-real-ip": "10.0.0.1"
            }
          })
          sent.write("some")
          sent.addTrailers({ "X-Sum": "42" })
          sent.end("thing")
          const [answer] = (await once(sent, "response")) as [IncomingMessage]
          await once(answer.resume(), "end")
        }
        await visit("Basic YTpi")
        await visit(`Bearer ${newSecret()}`)
        const [[first, trailers], [second]] = seen as [(typeof seen)[0], (typeof seen)[0]]
        assert.deepStrictEqual({ ...trailers }, { "x-sum": "42" })
        const told = Object.entries(first).filter(([name]) => /forwarded|real-ip/.test(name))
        assert.deepStrictEqual(Object.fromEntries(told), {
          "x-forwarded-for": "10.0.0.1, 127.0.0.1",
          "x-forwarded-host": host,
          "x-forwarded-proto": "http"
        })
        assert.deepStrictEqual([first.authorization, second.authorization], ["Basic YTpi", undefined])
      })
    )
  })

  it.effect("answers every name without a preview alike, and leaves other hosts to the API", () =>
    withPreview(createServer(), ({ port, host, id, accountId, sandboxId }) =>
      Effect.gen(function* () {
        const previews = yield* Previews
        yield* previews.close(accountId, sandboxId, id, requestIdentity)
        const strip = ({ status, headers: { date: _date, ...headers }, body }: Answer) => ({
          status,
          headers,
          body: body.toString()
        })
        const dead = strip(yield* send(port, host))
        assert.strictEqual(dead.status, 404)
        for (const other of [`${"0".repeat(32)}.preview.localhost`, "x.y.preview.localhost", "preview.localhost"]) {
          assert.deepStrictEqual(strip(yield* send(port, other)), dead)
        }
        // A preview's name stays one in any case, with a final dot and with an API path.
        const shouted = `${host.toUpperCase()}.`
        assert.strictEqual((yield* send(port, shouted, { path: "/api/v2/me" })).status, 404)
        assert.strictEqual((yield* send(port, "localhost")).body.toString(), apiAnswer)
        assert.strictEqual((yield* send(port, `evilpreview.localhost`)).body.toString(), apiAnswer)
        yield* previews.close(accountId, sandboxId, id, requestIdentity)
      })
    )
  )

  it.effect("shows a page that reloads itself while nothing listens on the port", () =>
    withPreview(createServer(), ({ port, host, sandboxId, world }) =>
      Effect.gen(function* () {
        world.machines.get(sandboxId)!.listeners.clear()
        const page = yield* send(port, host, { headers: { accept: "text/html,*/*" } })
        assert.strictEqual(page.status, 502)
        assert.include(page.body.toString(), 'http-equiv="refresh"')
        assert.include(page.body.toString(), "port 3000")
        const plain = yield* send(port, host)
        assert.strictEqual(plain.headers["content-type"], "text/plain; charset=utf-8")
        assert.notInclude(plain.body.toString(), "loads itself")
        listenInside(
          world,
          sandboxId,
          3000,
          createServer((_, response) => response.end("up"))
        )
        assert.strictEqual((yield* send(port, host)).body.toString(), "up")
      })
    )
  )

  it.effect("streams a large upload and download with the bytes unchanged", () => {
    const inside = createServer((incoming, response) => {
      response.writeHead(200)
      incoming.pipe(response)
    })
    const bytes = randomBytes(24 * 1024 ** 2)
    const digest = (it: Buffer) => createHash("sha256").update(it).digest("hex")
    return withPreview(inside, ({ port, host }) =>
      Effect.gen(function* () {
        const { body } = yield* send(port, host, { method: "POST", headers: { "content-length": bytes.length } }, bytes)
        assert.strictEqual(digest(body), digest(bytes))
      })
    )
  })

  it.effect(
    "delivers each event of a stream when the program sends it, and ends the stream when the visitor leaves",
    () => {
      let stream: { write: (text: string) => void } | null = null
      let closed: Promise<unknown> | null = null
      const inside = createServer((_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.flushHeaders()
        stream = response
        closed = once(response, "close")
      })
      return withPreview(inside, ({ port, host }) =>
        Effect.promise(async () => {
          const sent = request({ host: "127.0.0.1", port, headers: { host } }).end()
          const [answer] = (await once(sent, "response")) as [IncomingMessage]
          for (const text of ["data: 1\n\n", "data: 2\n\n"]) {
            stream!.write(text)
            const [chunk] = (await once(answer, "data")) as [Buffer]
            assert.strictEqual(chunk.toString(), text)
          }
          sent.destroy()
          await closed
        })
      )
    }
  )

  it.effect("applies backpressure to a program whose visitor does not read", () => {
    let written = 0
    const chunk = Buffer.alloc(64 * 1024)
    const inside = createServer((_, response) => {
      response.writeHead(200)
      const pump = () => {
        while (response.write(chunk)) written += chunk.length
        response.once("drain", pump)
      }
      pump()
    })
    return withPreview(inside, ({ port, host }) =>
      Effect.promise(async () => {
        const socket = connect(port, "127.0.0.1")
        socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
        await once(socket, "readable")
        let before = -1
        // Waits until the program cannot write: the kernel's and the streams' buffers are full.
        while (before !== written) {
          before = written
          await new Promise((resolve) => setTimeout(resolve, 100))
        }
        assert.isBelow(written, 16 * 1024 ** 2)
        socket.destroy()
      })
    )
  })

  it.effect("keeps connections to the program between requests, and drops them when the preview closes", () => {
    const sockets = new Set<unknown>()
    const inside = createServer((_, response) => response.end("x"))
    inside.on("connection", (socket) => sockets.add(socket))
    return withPreview(inside, ({ port, host, id, accountId, sandboxId, world }) =>
      Effect.gen(function* () {
        const warnings: Array<string> = []
        const warned = ({ message }: Error) => void warnings.push(message)
        process.on("warning", warned)
        for (let at = 0; at < 20; at++) yield* send(port, host)
        process.off("warning", warned)
        assert.strictEqual(sockets.size, 1)
        // A reused connection gathers no listeners.
        assert.deepStrictEqual(warnings, [])
        const previews = yield* Previews
        const connections = yield* LiveConnections
        yield* previews.close(accountId, sandboxId, id, requestIdentity)
        assert.strictEqual(connections.count(), 0)
        assert.strictEqual(world.machines.get(sandboxId)!.tunnels.size, 0)
      })
    )
  })

  it.effect("answers a request that is waiting when its preview closes like a later one", () =>
    withPreview(createServer(), ({ port, host, id, accountId, sandboxId }) =>
      Effect.gen(function* () {
        const connections = yield* LiveConnections
        const waiting = Effect.runPromise(send(port, host))
        yield* Effect.repeat(
          Effect.sync(() => connections.count()),
          { schedule: Schedule.spaced(5), until: (count) => count === 2 }
        )
        const previews = yield* Previews
        yield* previews.close(accountId, sandboxId, id, requestIdentity)
        const answer = yield* Effect.promise(() => waiting)
        assert.deepStrictEqual([answer.status, answer.headers.connection], [404, "close"])
      })
    )
  )

  it.effect("passes on unchanged a request that only offers another protocol", () => {
    const seen: Array<readonly [string, string | undefined]> = []
    const inside = createServer(async (incoming, response) => {
      let body = ""
      for await (const chunk of incoming) body += chunk
      seen.push([body, incoming.headers.upgrade])
      response.end()
    })
    inside.on("upgrade", (_incoming, socket) => socket.destroy())
    return withPreview(inside, ({ port, host }) =>
      Effect.gen(function* () {
        const offer = { connection: "Upgrade, HTTP2-Settings", upgrade: "h2c", "http2-settings": "AAMAAABk" }
        yield* send(port, host, { headers: offer })
        yield* send(port, host, { method: "POST", headers: { ...offer, "content-length": 4 } }, Buffer.from("some"))
        const chunked = { ...offer, upgrade: "websocket", "transfer-encoding": "chunked" }
        yield* send(port, host, { method: "POST", headers: chunked }, Buffer.from("more"))
        assert.deepStrictEqual(seen, [
          ["", undefined],
          ["some", undefined],
          ["more", undefined]
        ])
      })
    )
  })

  it.effect("carries WebSockets: subprotocol, binary, ping, close code and reason", () => {
    const inside = createServer()
    const sockets = new WebSocketServer({ server: inside, handleProtocols: () => "chat" })
    sockets.on("connection", (socket) => {
      socket.on("message", (data, isBinary) => {
        if (data.toString() === "bye") socket.close(4001, "as asked")
        else socket.send(data, { binary: isBinary })
      })
    })
    return withPreview(inside, ({ port, host }) =>
      Effect.promise(async () => {
        const socket = new WebSocket(`ws://127.0.0.1:${port}/live?x=1`, ["chat", "other"], { headers: { host } })
        await once(socket, "open")
        assert.strictEqual(socket.protocol, "chat")
        const bytes = randomBytes(300_000)
        socket.send(bytes)
        const [echo, isBinary] = (await once(socket, "message")) as [Buffer, boolean]
        assert.isTrue(isBinary && echo.equals(bytes))
        socket.ping("are you there")
        const [pong] = (await once(socket, "pong")) as [Buffer]
        assert.strictEqual(pong.toString(), "are you there")
        socket.send("bye")
        const [code, reason] = (await once(socket, "close")) as [number, Buffer]
        assert.deepStrictEqual([code, reason.toString()], [4001, "as asked"])
      })
    )
  })

  it.effect(
    "passes on a program's refusal of an upgrade, and cuts an upgraded connection when its preview closes or its Sandbox stops",
    () => {
      const inside = createServer((_, response) => {
        response.writeHead(418, { "x-why": "no sockets here" })
        response.end("no")
      })
      const sockets = new WebSocketServer({ noServer: true })
      inside.on("upgrade", (incoming, socket, head) => {
        if (incoming.url === "/yes") sockets.handleUpgrade(incoming, socket, head, () => {})
        else socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nX-Why: not you\r\n\r\nno")
      })
      return withPreview(inside, ({ port, host, id, accountId, sandboxId }) =>
        Effect.gen(function* () {
          const open = (path: string) => new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers: { host } })
          const refused = yield* Effect.promise(() => once(open("/no"), "unexpected-response"))
          const answer = refused[1] as IncomingMessage
          assert.deepStrictEqual([answer.statusCode, answer.headers["x-why"]], [403, "not you"])
          answer.destroy()
          const first = open("/yes")
          yield* Effect.promise(() => once(first, "open"))
          const previews = yield* Previews
          const cut = once(first, "close")
          yield* previews.close(accountId, sandboxId, id, requestIdentity)
          assert.strictEqual((yield* Effect.promise(() => cut))[0], 1006)
          const next = yield* previews.create(accountId, sandboxId, { ...requestIdentity, port: 3000 })
          const second = new WebSocket(`ws://127.0.0.1:${port}/yes`, { headers: { host: next.hostname } })
          yield* Effect.promise(() => once(second, "open"))
          const gone = once(second, "close")
          const sandboxes = yield* Sandboxes
          yield* sandboxes.stop(accountId, sandboxId, requestIdentity)
          yield* Effect.promise(() => gone)
          // The preview receives the end when the client of the stop gets its answer; until then its Sandbox does not
          // answer.
          const { status } = yield* Effect.repeat(send(port, next.hostname), {
            schedule: Schedule.spaced(5),
            until: ({ status }) => status !== 502
          })
          assert.strictEqual(status, 404)
        })
      )
    }
  )

  it.effect("answers 503 beyond the bound of connections into one Sandbox", () => {
    const inside = createServer(() => {})
    return withPreview(
      inside,
      ({ port, host }) =>
        Effect.gen(function* () {
          const connections = yield* LiveConnections
          const waiting = Array.from({ length: 3 }, () => request({ host: "127.0.0.1", port, headers: { host } }).end())
          for (const one of waiting) one.on("error", () => {})
          yield* Effect.repeat(
            Effect.sync(() => connections.count()),
            { schedule: Schedule.spaced(5), until: (count) => count === 4 }
          )
          const refused = yield* send(port, host)
          assert.strictEqual(refused.status, 503)
          for (const one of waiting) one.destroy()
          yield* Effect.repeat(
            Effect.sync(() => connections.count()),
            { schedule: Schedule.spaced(5), until: (count) => count === 1 }
          )
        }),
      { ATOLL_CONNECTIONS_PER_SANDBOX: "4" }
    )
  })
})
