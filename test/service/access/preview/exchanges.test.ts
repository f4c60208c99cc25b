/** Plain exchanges over kept connections to a program, and those that are handed to node:http, over real connections. */
import { once } from "node:events"
import { Agent, createServer as createHttpServer, type IncomingMessage, request } from "node:http"
import { connect, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { PreviewGateway } from "../../../../src/access/preview/PreviewGateway.ts"
import { Previews } from "../../../../src/access/preview/Previews.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { requestIdentity, runningSandboxOf, serveGateways } from "../../../support/GatewayServer.ts"
import { testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { untilFound } from "../../../support/until.ts"

interface Visits {
  readonly port: number
  readonly host: string
  /** The whole answer as it came, and whether the connection was cut before its end. */
  readonly visit: (path?: string, method?: string) => Promise<{ readonly status: number; readonly body: string }>
  readonly raw: (text: string) => Promise<string>
}

/** `serve` gets each connection to the program. */
const withProgram = (serve: (connection: Duplex, number: number) => void, use: (visits: Visits) => Promise<void>) =>
  Effect.gen(function* () {
    const world = yield* SimulatedWorld.make
    yield* Effect.gen(function* () {
      const port = yield* serveGateways([yield* PreviewGateway])
      const { accountId, sandboxId } = yield* runningSandboxOf()
      let count = 0
      world.machines.get(sandboxId)!.listeners.set(3000, (stream) => {
        stream.on("error", () => {})
        serve(stream, count++)
      })
      const previews = yield* Previews
      const { hostname: host } = yield* previews.create(accountId, sandboxId, { ...requestIdentity, port: 3000 })
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const visit: Visits["visit"] = async (path = "/", method = "GET") => {
        const sent = request({ host: "127.0.0.1", port, path, method, agent, headers: { host } }).end()
        const [answer] = (await once(sent, "response")) as [IncomingMessage]
        let body = ""
        for await (const chunk of answer) body += chunk
        return { status: answer.statusCode!, body }
      }
      const raw: Visits["raw"] = async (text) => {
        const socket: Socket = connect(port, "127.0.0.1").on("error", () => {})
        socket.write(text)
        let got = ""
        for await (const chunk of socket) got += (chunk as Buffer).toString("latin1")
        return got
      }
      yield* Effect.promise(() => use({ port, host, visit, raw }).finally(() => agent.destroy()))
    }).pipe(Effect.scoped, Effect.provide(testAtoll(world, {})))
  })

/** Calls `answer` for each request without a body, with its path and its number on this connection. */
const onRequest = (connection: Duplex, answer: (path: string, number: number) => void): void => {
  let text = ""
  let number = 0
  connection.on("data", (bytes: Buffer) => {
    text += bytes.toString("latin1")
    for (let end = text.indexOf("\r\n\r\n"); end >= 0; end = text.indexOf("\r\n\r\n")) {
      const [, path = ""] = text.split(" ", 2)
      text = text.slice(end + 4)
      answer(path, number++)
    }
  })
}

const ok = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`

layer(TestDatabase.layer, { excludeTestServices: true })("a visitor of a preview", (it) => {
  it.effect("gets plain answers one after the other over one connection to the program", () => {
    let connections = 0
    return withProgram(
      (connection, number) => {
        connections = number + 1
        onRequest(connection, (path, at) => connection.write(ok(`${path} ${at}`)))
      },
      async ({ visit }) => {
        for (let at = 0; at < 5; at++) assert.strictEqual((await visit(`/${at}`)).body, `/${at} ${at}`)
        assert.strictEqual(connections, 1)
      }
    )
  })

  it.effect(
    "gets other answers from node:http: in chunks, in pieces, hinted, and until the end of the connection",
    () =>
      withProgram(
        (connection) =>
          onRequest(connection, (path) => {
            if (path === "/chunks")
              connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nch\r\n4\r\nunks\r\n0\r\n\r\n")
            else if (path === "/hint")
              connection.write(`HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n${ok("hint")}`)
            else if (path === "/end") connection.end("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nend")
            else {
              connection.write(ok("pieces").slice(0, 20))
              setTimeout(() => connection.write(ok("pieces").slice(20)), 20)
            }
          }),
        async ({ visit }) => {
          // The first of each is tried as a plain one. After it, some are not.
          for (let round = 0; round < 12; round++)
            for (const what of ["chunks", "hint", "end", "pieces"])
              assert.deepStrictEqual(await visit(`/${what}`), { status: 200, body: what })
        }
      )
  )

  it.effect("never gets bytes that the program sent beyond another answer: they end their connection", () => {
    let connections = 0
    return withProgram(
      (connection, number) => {
        connections = number + 1
        onRequest(connection, (path) => {
          connection.write(path === "/late" ? ok("late") : `${ok("first")}${ok("stray")}`)
          if (path === "/late") setTimeout(() => connection.write(ok("stray")), 10)
        })
      },
      async ({ visit }) => {
        for (const path of ["/more", "/more", "/late"]) {
          assert.notStrictEqual((await visit(path)).body, "stray")
          await new Promise((resolve) => setTimeout(resolve, 30))
        }
        assert.strictEqual((await visit("/more")).body, "first")
        assert.strictEqual(connections, 4)
      }
    )
  })

  it.effect("gets an answer although the program has closed a kept connection at the request", () =>
    withProgram(
      (connection) =>
        onRequest(connection, (_path, at) => {
          if (at === 0) connection.write(ok("answered"))
          else connection.destroy()
        }),
      async ({ visit }) => {
        for (let at = 0; at < 4; at++) assert.strictEqual((await visit()).body, "answered")
      }
    )
  )

  it.effect("whose request may not be repeated gets its own connection", () => {
    const seen: Array<string> = []
    return withProgram(
      (connection, number) =>
        onRequest(connection, () => {
          seen.push(`connection ${number}`)
          connection.write(ok("x"))
        }),
      async ({ visit }) => {
        await visit()
        await visit("/", "POST")
        await visit()
        assert.deepStrictEqual(seen, ["connection 0", "connection 1", "connection 0"])
      }
    )
  })

  it.effect("sees a program's break in the middle of an answer as a break", () =>
    withProgram(
      (connection) =>
        onRequest(connection, () => {
          connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
          setTimeout(() => connection.destroy(), 20)
        }),
      async ({ host, raw, visit }) => {
        assert.isTrue((await raw(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).endsWith("half"))
        const failed = await visit().then(
          () => null,
          (cause: Error) => cause
        )
        assert.isNotNull(failed)
      }
    )
  )

  it.effect("who leaves closes the connection on which its answer was awaited", () => {
    const open = new Set<Duplex>()
    return withProgram(
      (connection) => void open.add(connection.resume().once("close", () => open.delete(connection))),
      async ({ port, host }) => {
        const sent = request({ host: "127.0.0.1", port, headers: { host } }).end()
        sent.on("error", () => {})
        await untilFound(() => open.size === 1)
        sent.destroy()
        await untilFound(() => open.size === 0)
      }
    )
  })

  it.effect("gets several megabytes unchanged, however slowly it reads, and pipelined answers in order", () => {
    const large = Buffer.from(Uint32Array.from({ length: 2 * 1024 ** 2 }, (_, at) => at * 2_654_435_761).buffer)
    const program = createHttpServer((incoming, response) => {
      if (incoming.url !== "/large") return void response.end(incoming.url)
      response.writeHead(200, { "content-length": large.length })
      response.end(large)
    })
    return withProgram(
      (connection) => void program.emit("connection", connection),
      async ({ host, port, raw }) => {
        const sent = request({ host: "127.0.0.1", port, path: "/large", headers: { host } }).end()
        const [answer] = (await once(sent, "response")) as [IncomingMessage]
        const got: Array<Buffer> = []
        for await (const chunk of answer) {
          got.push(chunk as Buffer)
          if (got.length % 8 === 0) await new Promise((resolve) => setTimeout(resolve, 2))
        }
        assert.isTrue(Buffer.concat(got).equals(large))
        const ask = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`
        const both = await raw(ask("/large") + ask("/second") + ask("/third", "Connection: close\r\n"))
        const bodies = both.split(/HTTP\/1\.1 200 OK\r\n(?:[^\r\n]+\r\n)*\r\n/)
        assert.deepStrictEqual([bodies[2], bodies[3]], ["/second", "/third"])
        assert.isTrue(Buffer.from(bodies[1]!, "latin1").equals(large))
      }
    )
  })
})
