/**
 * Messages that HTTP's parser takes and its writer would throw at. A program in a Sandbox, or any client that knows a
 * host name, can send them.
 * Each gets an answer, and the service goes on.
 */
import { once } from "node:events"
import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { PreviewGateway } from "../../../../src/access/preview/PreviewGateway.ts"
import { Previews } from "../../../../src/access/preview/Previews.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { requestIdentity, runningSandboxOf, serveGateways } from "../../../support/GatewayServer.ts"
import { testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const plainAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
const plainRequest = "GET / HTTP/1.1"
const upgrade = "Connection: Upgrade\r\nUpgrade: x"

/**
 * The visitor's request line and headers without Host; the program's whole answer; the answer that the visitor gets.
 */
const exchanges: ReadonlyArray<readonly [name: string, request: string, answer: string, expected: RegExp]> = [
  [
    "an answer that names trailers and has none",
    plainRequest,
    "HTTP/1.1 200 OK\r\nTrailer: X\r\nContent-Length: 2\r\n\r\nok",
    /^HTTP\/1.1 200 OK\r\n(?!.*trailer).*ok$/is
  ],
  [
    "trailers for a visitor who knows none",
    "GET / HTTP/1.0",
    "HTTP/1.1 200 OK\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: 1\r\n\r\n",
    /^HTTP\/1.1 200 OK\r\n.*\r\n\r\nok$/s
  ],
  [
    "trailers after an answer without a body",
    plainRequest,
    "HTTP/1.1 204 No Content\r\nTrailer: X\r\n\r\n",
    /^HTTP\/1.1 204 No Content\r\n/s
  ],
  ["a status below 100", plainRequest, "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n", /^HTTP\/1.1 502 /s],
  [
    "a reason that is not printable",
    plainRequest,
    "HTTP/1.1 200 \x01\x7f\r\nContent-Length: 2\r\n\r\nok",
    /^HTTP\/1.1 200 OK\r\n.*ok$/s
  ],
  [
    "an early hint that is no link",
    plainRequest,
    `HTTP/1.1 103 Early Hints\r\nLink: nonsense\r\n\r\n${plainAnswer}`,
    /^HTTP\/1.1 200 OK\r\n.*ok$/s
  ],
  [
    "an early hint",
    plainRequest,
    `HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n${plainAnswer}`,
    /^HTTP\/1.1 103 .*Link: <\/a.css>; rel=preload\r\n\r\nHTTP\/1.1 200 OK\r\n.*ok$/s
  ],
  ["an unrequested change of protocol", plainRequest, `HTTP/1.1 101 Odd\r\n${upgrade}\r\n\r\n`, /^HTTP\/1.1 502 /s],
  ["what is not HTTP", plainRequest, "\0\x01\x02\r\n\r\n", /^HTTP\/1.1 502 /s],
  ["a visitor's trailers without a body", `${plainRequest}\r\nTrailer: X`, plainAnswer, /^HTTP\/1.1 200 OK\r\n.*ok$/s],
  [
    "a visitor's trailers after a body of known length",
    "POST / HTTP/1.1\r\nTrailer: X\r\nContent-Length: 0",
    plainAnswer,
    /^HTTP\/1.1 200 OK\r\n.*ok$/s
  ],
  ["a tab in a path", "GET /a\tb HTTP/1.1", plainAnswer, /^HTTP\/1.1 (200|400) /s],
  ["a path of bytes", "GET /\xff HTTP/1.1", plainAnswer, /^HTTP\/1.1 (200|400) /s],
  ["trailers of an upgrade", `${plainRequest}\r\n${upgrade}\r\nTrailer: X`, plainAnswer, /^HTTP\/1.1 200 OK\r\n.*ok$/s],
  ["a tab in the path of an upgrade", `GET /a\tb HTTP/1.1\r\n${upgrade}`, plainAnswer, /^HTTP\/1.1 (200|400) /s],
  [
    "an upgrade that is answered with a status below 100",
    `${plainRequest}\r\n${upgrade}`,
    "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n",
    /^HTTP\/1.1 502 /s
  ],
  [
    "a cookie for every preview, with an upgrade",
    `${plainRequest}\r\n${upgrade}`,
    `HTTP/1.1 101 Odd\r\n${upgrade}\r\nSet-Cookie: a=1; Domain=preview.localhost; Path=/\r\nset-cookie: b=2;DOMAIN = localhost\r\n\r\nok`,
    /^HTTP\/1.1 101 Odd\r\nSet-Cookie: a=1; Path=\/\r\nset-cookie: b=2\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nok$/s
  ],
  [
    "a cookie for every preview, with a refused upgrade",
    `${plainRequest}\r\n${upgrade}`,
    "HTTP/1.1 403 No\r\nSet-Cookie: a=1; Domain=preview.localhost\r\nContent-Length: 2\r\n\r\nok",
    /^HTTP\/1.1 403 No\r\n(?!.*domain).*ok$/is
  ],
  [
    "a cookie for every preview, in an early hint",
    plainRequest,
    `HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nSet-Cookie: a=1; Domain=preview.localhost\r\n\r\n${plainAnswer}`,
    /^HTTP\/1.1 103 (?!.*cookie).*ok$/is
  ],
  [
    "a cookie for every preview, in a trailer",
    plainRequest,
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nSet-Cookie: a=1; Domain=preview.localhost\r\nX: 1\r\n\r\n",
    /^HTTP\/1.1 200 OK\r\n(?!.*domain).*ok\r\n0\r\nSet-Cookie: a=1\r\nX: 1\r\n\r\n$/is
  ],
  [
    "a cookie for every preview, folded over two lines",
    plainRequest,
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: a=1;\r\n Domain=preview.localhost\r\n\r\nok",
    /^HTTP\/1.1 (?!.*domain)/is
  ],
  [
    "an answer that calls its length one hop's",
    plainRequest,
    "HTTP/1.1 200 OK\r\nConnection: content-length\r\nContent-Length: 2\r\n\r\nok",
    /^HTTP\/1.1 200 OK\r\nContent-Length: 2\r\n.*ok$/s
  ],
  [
    "an answer in a coding that is not known",
    plainRequest,
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok",
    /^HTTP\/1.1 502 /s
  ]
]

layer(TestDatabase.layer, { excludeTestServices: true })("the preview gateway between hostile ends", (it) => {
  for (const [name, request, answer, expected] of exchanges) {
    it.effect(`answers ${name}`, () =>
      Effect.gen(function* () {
        const world = yield* SimulatedWorld.make
        yield* Effect.gen(function* () {
          const port = yield* serveGateways([yield* PreviewGateway])
          const { accountId, sandboxId } = yield* runningSandboxOf()
          const { listeners } = world.machines.get(sandboxId)!
          listeners.set(3000, (stream) => {
            stream.on("error", () => {})
            stream.once("data", () => stream.end(Buffer.from(answer, "latin1")))
          })
          const previews = yield* Previews
          const { hostname } = yield* previews.create(accountId, sandboxId, { ...requestIdentity, port: 3000 })
          const visit = (head: string) =>
            Effect.promise(async () => {
              const socket = connect(port, "127.0.0.1").on("error", () => {})
              socket.write(Buffer.from(`${head}\r\nHost: ${hostname}\r\n`, "latin1"))
              socket.write(/Connection:/.test(head) ? "\r\n" : "Connection: close\r\n\r\n")
              let seen = ""
              socket.on("data", (bytes) => {
                seen += bytes.toString("latin1")
              })
              await once(socket, "close")
              return seen
            })
          assert.match(yield* visit(request), expected)
          listeners.set(3000, (stream) => void stream.once("data", () => stream.end(plainAnswer)))
          assert.match(yield* visit(plainRequest), /^HTTP\/1.1 200 OK\r\n.*ok$/s)
        }).pipe(Effect.scoped, Effect.provide(testAtoll(world)))
      })
    )
  }
})
