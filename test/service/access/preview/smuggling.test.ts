/**
 * Requests with an ambiguous length, coding or host. Either the program gets exactly one message, framed as the gateway
 * understood it, with the gateway's headers about its origin; or the visitor gets an answer and the program gets
 * nothing.
 */
import { once } from "node:events"
import { connect } from "node:net"
import type { Duplex } from "node:stream"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { PreviewGateway } from "../../../../src/access/preview/PreviewGateway.ts"
import { Previews } from "../../../../src/access/preview/Previews.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { requestIdentity, runningSandboxOf, serveGateways } from "../../../support/GatewayServer.ts"
import { testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
/** A body that looks like a second request. The program waits for its last word before it answers. */
const smuggled = "GET /smuggled HTTP/1.1\r\nHost: evil\r\nX-Forwarded-For: 10.0.0.1\r\nX-End: END\r\n\r\n"

interface Message {
  readonly line: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: string
  readonly trailers: ReadonlyArray<string>
  /** Returns what came after it on the same connection. */
  readonly rest: string
}

/** Parses as a strict server does (RFC 9112 section 6.3); null while the message is incomplete. */
const parsed = (raw: string): Message | null => {
  const end = raw.indexOf("\r\n\r\n")
  if (end === -1) return null
  const [line, ...fields] = raw.slice(0, end).split("\r\n") as [string, ...Array<string>]
  const headers = fields.map((field): [string, string] => {
    const [, name, value] = /^([^:]+):[ \t]*(.*)$/.exec(field)!
    return [name!.toLowerCase(), value!]
  })
  const only = (name: string) => {
    const found = headers.filter(([one]) => one === name)
    assert.isAtMost(found.length, 1, `${name} in ${raw}`)
    return found[0]?.[1]
  }
  const coding = only("transfer-encoding")
  const length = only("content-length")
  assert.isFalse(coding !== undefined && length !== undefined, raw)
  let at = end + 4
  let body = ""
  if (coding !== undefined) {
    assert.strictEqual(coding, "chunked")
    for (;;) {
      const lineEnd = raw.indexOf("\r\n", at)
      if (lineEnd === -1) return null
      const size = Number.parseInt(raw.slice(at, lineEnd), 16)
      at = lineEnd + 2
      if (size === 0) break
      if (raw.length < at + size + 2) return null
      body += raw.slice(at, at + size)
      at += size + 2
    }
    const trailers: Array<string> = []
    for (;;) {
      const lineEnd = raw.indexOf("\r\n", at)
      if (lineEnd === -1) return null
      const trailer = raw.slice(at, lineEnd)
      at = lineEnd + 2
      if (trailer === "") return { line, headers, body, trailers, rest: raw.slice(at) }
      trailers.push(trailer.toLowerCase())
    }
  }
  const bytes = Number(length ?? 0)
  if (raw.length < at + bytes) return null
  body = raw.slice(at, at + bytes)
  return { line, headers, body, trailers: [], rest: raw.slice(at + bytes) }
}

/** Records each connection's bytes, and answers once a whole message and the last word have come. */
const recorder = () => {
  const connections: Array<{ raw: string; answered: number }> = []
  const listener = (stream: Duplex) => {
    const connection = { raw: "", answered: 0 }
    connections.push(connection)
    stream.on("error", () => {})
    stream.on("data", (bytes: Buffer) => {
      connection.raw += bytes.toString("latin1")
      const next = connection.raw.slice(connection.answered)
      if (parsed(next) === null || !next.includes("END")) return
      connection.answered = connection.raw.length
      stream.write(answer)
    })
  }
  return { connections, listener }
}

const withRecorder = (
  use: (at: {
    readonly host: string
    /** Sends the request on a new connection, and returns all bytes that come back. */
    readonly visit: (request: string) => Promise<string>
    /** The bytes that the program got since the last call, by connection. */
    readonly taken: () => ReadonlyArray<string>
  }) => Promise<void>
) =>
  Effect.gen(function* () {
    const world = yield* SimulatedWorld.make
    yield* Effect.gen(function* () {
      const port = yield* serveGateways([yield* PreviewGateway])
      const { accountId, sandboxId } = yield* runningSandboxOf()
      const { connections, listener } = recorder()
      world.machines.get(sandboxId)!.listeners.set(3000, listener)
      const previews = yield* Previews
      const { hostname } = yield* previews.create(accountId, sandboxId, { ...requestIdentity, port: 3000 })
      const visit = async (request: string) => {
        const socket = connect(port, "127.0.0.1").on("error", () => {})
        socket.write(Buffer.from(request, "latin1"))
        let seen = ""
        socket.on("data", (bytes) => {
          seen += bytes.toString("latin1")
        })
        await once(socket, "close")
        return seen
      }
      const taken = () => {
        const since = connections.map(({ raw }) => raw)
        for (const connection of connections) Object.assign(connection, { raw: "", answered: 0 })
        return since.filter((raw) => raw !== "")
      }
      yield* Effect.promise(() => use({ host: hostname, visit, taken }))
    }).pipe(Effect.scoped, Effect.provide(testAtoll(world)))
  })

const framed = {
  length: (body: string) => [`Content-Length: ${body.length}`, body],
  chunks: (body: string) => ["Transfer-Encoding: chunked", `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`]
}

/** Every header that frames a message or names its origin. */
const named = [
  "content-length",
  "Content-Length, transfer-encoding",
  "transfer-encoding",
  "TE",
  "trailer",
  "host",
  "x-forwarded-for, x-forwarded-host, x-forwarded-proto",
  "upgrade",
  "expect",
  "connection",
  "content_length",
  "keep-alive, close, content-length,,"
]

/** Beside `Host`: headers and a body that are ambiguous, or nearly. */
const obfuscated: ReadonlyArray<readonly [headers: string, body: string]> = [
  [`Content-Length: 0\r\nContent-Length: ${smuggled.length}`, smuggled],
  [`Content-Length: ${smuggled.length}, ${smuggled.length}`, smuggled],
  [`Content-Length: +${smuggled.length}`, smuggled],
  [`Content-Length: 0x10`, smuggled],
  [`Content-Length : ${smuggled.length}`, smuggled],
  [`Content_Length: 0\r\nContent-Length: ${smuggled.length}`, smuggled],
  [`Content-Length: ${smuggled.length}\r\nTransfer_Encoding: chunked`, smuggled],
  [`Content-Length: 4\r\nTransfer-Encoding: chunked`, framed.chunks(smuggled)[1]!],
  [`Transfer-Encoding: chunked\r\nContent-Length: 4`, framed.chunks(smuggled)[1]!],
  [`Transfer-Encoding: gzip, chunked`, framed.chunks(smuggled)[1]!],
  [`Transfer-Encoding: chunked, identity`, framed.chunks(smuggled)[1]!],
  [`Transfer-Encoding: xchunked`, framed.chunks(smuggled)[1]!],
  [`Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked`, framed.chunks(smuggled)[1]!],
  [`Transfer-Encoding: \tchunked`, framed.chunks(smuggled)[1]!],
  [`Transfer-Encoding:\x0bchunked`, framed.chunks(smuggled)[1]!],
  [`X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: ${smuggled.length}`, smuggled],
  [`X: y\nTransfer-Encoding: chunked\r\nContent-Length: ${smuggled.length}`, smuggled],
  [`Host: evil\r\nContent-Length: ${smuggled.length}`, smuggled],
  [`Expect: 100-continue\r\nContent-Length: ${smuggled.length}`, smuggled],
  [`Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: ${smuggled.length}`, smuggled],
  [`Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AA\r\nContent-Length: 3`, "END"],
  [`Proxy: http://evil\r\nX_Forwarded_For: 1.1.1.1\r\nX-Real_IP: 1.1.1.1\r\nContent-Length: 3`, "END"],
  [
    "Trailer: host\r\nTransfer-Encoding: chunked",
    "3\r\nEND\r\n0\r\nHost: evil\r\nX-Forwarded-For: 1.1.1.1\r\nX_Forwarded_For: 1.1.1.1\r\n\r\n"
  ],
  ["Transfer-Encoding: chunked", "3\r\nEND\r\n0\r\nContent-Length: 5\r\n\r\n"],
  ["Transfer-Encoding: chunked", "3\r\nEND\r\n0\r\nContent_Length: 5\r\nTransfer_Encoding: chunked\r\n\r\n"]
]

const assertClean = (raw: string, host: string, context: string) => {
  const message = parsed(raw)
  assert.isNotNull(message, context)
  const { headers, rest, trailers, line } = message!
  assert.strictEqual(rest, "", context)
  assert.match(line, /^[A-Z]+ \/ HTTP\/1.1$/, context)
  const values = (name: string) =>
    headers.filter(([one]) => one.replaceAll("_", "-") === name).map(([, value]) => value)
  assert.deepStrictEqual(values("host"), [host], context)
  assert.deepStrictEqual(values("x-forwarded-host"), [host], context)
  assert.deepStrictEqual(values("x-forwarded-for"), ["127.0.0.1"], context)
  assert.deepStrictEqual(values("x-forwarded-proto"), ["http"], context)
  for (const name of ["expect", "proxy", "x-real-ip", "upgrade", "http2-settings"]) {
    assert.deepStrictEqual(values(name), [], context)
  }
  assert.deepStrictEqual(trailers, [], context)
}

layer(TestDatabase.layer, { excludeTestServices: true })("a preview's program", (it) => {
  it.effect("gets one message for a request with a body, for every Connection header", () =>
    withRecorder(async ({ host, visit, taken }) => {
      for (const names of named) {
        for (const method of ["GET", "POST", "DELETE", "OPTIONS", "PROPFIND"]) {
          for (const [framing, frame] of Object.entries(framed)) {
            const context = `${method} ${framing} Connection: ${names}`
            const [header, body] = frame(smuggled)
            const request = `${method} / HTTP/1.1\r\nHost: ${host}\r\nConnection: close, ${names}\r\n${header}\r\n\r\n${body}`
            assert.match(await visit(request), /^HTTP\/1.1 200 OK\r\n/, context)
            const raws = taken()
            assert.strictEqual(raws.length, 1, context)
            assertClean(raws[0]!, host, context)
            assert.strictEqual(parsed(raws[0]!)!.body, smuggled, context)
          }
        }
      }
    })
  )

  it.effect("gets one message or none for an ambiguous request, and the next request whole", () =>
    withRecorder(async ({ host, visit, taken }) => {
      for (const [headers, body] of obfuscated) {
        for (const method of ["GET", "POST"]) {
          const context = `${method} ${headers}`
          const request = `${method} / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${headers}\r\n\r\n${body}`
          const seen = await visit(request)
          const raws = taken()
          // The beginning of a request may have been passed on before its fault was seen; it never becomes a whole
          // request.
          if (/^HTTP\/1.1 400 /.test(seen))
            assert.isTrue(
              raws.every((raw) => parsed(raw) === null),
              context
            )
          else {
            assert.strictEqual(raws.length, 1, context)
            assert.match(seen, /HTTP\/1.1 200 OK\r\n/, context)
            assertClean(raws[0]!, host, context)
          }
          // Uses the connection that was kept for it, if there is one.
          const next = await visit(`GET / HTTP/1.1\r\nHost: ${host}\r\nX-End: END\r\nConnection: close\r\n\r\n`)
          assert.match(next, /^HTTP\/1.1 200 OK\r\n.*ok$/s, context)
          for (const raw of taken()) assertClean(raw, host, context)
        }
      }
    })
  )

  it.effect("never gets a request whose absolute URL names another host", () =>
    withRecorder(async ({ host, visit, taken }) => {
      const get = (target: string) =>
        visit(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nX-End: END\r\nConnection: close\r\n\r\n`)
      assert.match(await get("http://evil/"), /^HTTP\/1.1 400 /)
      assert.deepStrictEqual(taken(), [])
      assert.match(await get(`http://${host}`), /^HTTP\/1.1 200 /)
      assertClean(taken()[0]!, host, "a whole URL")
    })
  )
})
