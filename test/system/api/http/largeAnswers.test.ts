/**
 * Answers of megabytes and clients that do not read them: one account can keep only a few of them in the service's
 * memory, and delays no other.
 */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import { connect, type Socket } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, it, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { SqlClient } from "effect/sql"
import { scopes } from "../../../../schemas/Access.ts"
import { type LargeAnswerBounds, LargeAnswers } from "../../../../src/api/http/LargeAnswers.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

/** More than the kernel buffers for a client that does not read. */
const answerMinBytes = 12 * 1024 * 1024

layer(TestApi.layer(), { excludeTestServices: true })("large answers", (it) => {
  it.effect("without a reader are few for an account; the next request gets 429, and other accounts are served", () =>
    Effect.contextWith((context: Context.Context<TestApi | SqlClient.SqlClient>) =>
      Effect.promise(async () => {
        const api = Context.get(context, TestApi)
        const sql = Context.get(context, SqlClient.SqlClient)
        const tenant = async () => {
          const { secret: key } = await api.newKey(scopes, randomUUID())
          const id = await api.newSandbox(await api.newWorkspace(key), key)
          return { key, id }
        }
        const [one, other] = [await tenant(), await tenant()]
        // The output of a program that prints control characters: in JSON each is six bytes.
        await Effect.runPromise(
          Effect.orDie(sql`
            insert into output_chunks (owner_id, stream, start_offset, end_offset, sandbox_id, source, at, bytes)
            select 'flood', 'stdout', n * 65536, (n + 1) * 65536, ${one.id}, 'workload', ${Date.now()}::int8 + n, convert_to(repeat(chr(1), 65536), 'UTF8')
            from generate_series(1, 100) n`)
        )
        const paths = ["/logs?limit=5000"].map((path) => `/api/v2/sandboxes/${one.id}${path}`)
        for (const path of paths) {
          const { status, text, json } = await api.send("GET", path, { key: one.key })
          assert.strictEqual(status, 200)
          assert.isAtLeast(text.length, answerMinBytes)
          assert.isAtMost(text.length, 17 * 1024 * 1024)
          assert.isTrue(json.logs.truncated)
          // The newest are returned.
          assert.strictEqual(json.logs.entries.at(-1).text, "\u0001".repeat(65_536))
        }
        const sockets: Array<Socket> = []
        for (let count = 0; count < 12; count++) {
          const socket = connect(api.port, "127.0.0.1").on("error", () => {})
          socket.write(`GET ${paths[0]} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${one.key}\r\n\r\n`)
          sockets.push(socket)
        }
        const heads = await Promise.all(
          sockets.map(async (socket) => {
            const [piece] = (await once(socket, "data")) as [Buffer]
            socket.pause()
            return piece.toString("latin1")
          })
        )
        const statuses = heads.map((head) => Number(head.slice(9, 12)))
        assert.strictEqual(statuses.filter((status) => status === 200).length, 4, statuses.join())
        assert.strictEqual(statuses.filter((status) => status === 429).length, 8, statuses.join())
        const refused = heads.find((head) => head.startsWith("HTTP/1.1 429"))!
        assert.match(refused, /\r\nretry-after: \d+\r\n/i)
        assert.include(refused, '"code":"RATE_LIMITED"')
        // Other accounts, and small answers, go on.
        for (const path of ["/logs", "/operations", "/history", "/transitions"]) {
          const { status } = await api.send("GET", `/api/v2/sandboxes/${other.id}${path}`, { key: other.key })
          assert.strictEqual(status, 200, path)
        }
        assert.strictEqual((await api.send("GET", `/api/v2/sandboxes/${one.id}`, { key: one.key })).status, 200)
        // A slot is free once its answer was read, or its client has disconnected.
        const waiting = api.send("GET", paths[0]!, { key: one.key })
        const open = sockets.filter((_, index) => statuses[index] === 200)
        open[0]!.resume()
        assert.strictEqual((await waiting).status, 200)
        for (const socket of sockets) socket.destroy()
        // As many as have a place: on a busy machine those behind them might wait too long for one.
        const again = await Promise.all(Array.from({ length: 4 }, () => api.send("GET", paths[0]!, { key: one.key })))
        assert.deepStrictEqual(
          again.map(({ status }) => status),
          Array.from({ length: 4 }, () => 200)
        )
      })
    )
  )
})

/** A server of nothing but large answers, for the account that a request names: a GET's wait for a place, a POST's are counted. */
const serving = (bounds: Partial<LargeAnswerBounds>, test: (port: number) => Promise<void>) =>
  Effect.gen(function* () {
    const largeAnswers = yield* LargeAnswers
    const body = "x".repeat(answerMinBytes)
    const app = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      largeAnswers[request.method === "GET" ? "inTurn" : "onceRead"](
        request.url,
        request,
        Effect.succeed(HttpServerResponse.text(body))
      ).pipe(Effect.catchTag("RATE_LIMITED", () => Effect.succeed(HttpServerResponse.empty({ status: 429 }))))
    )
    yield* HttpServer.serveEffect(app)
    const { address } = yield* HttpServer.HttpServer
    yield* Effect.promise(() => test("port" in address ? address.port : 0))
  }).pipe(
    Effect.scoped,
    Effect.provide(
      LargeAnswers.layerOf({
        perAccount: 2,
        perProcess: 1,
        unreadPerAccount: 2 * answerMinBytes,
        unreadPerProcess: 3 * answerMinBytes,
        patienceMs: 10_000,
        stalledMs: 60_000,
        ...bounds
      })
    ),
    Effect.provide(NodeHttpServer.layer(() => createServer(), { host: "127.0.0.1", port: 0 }))
  )

const statusOf = (port: number, account: string, method = "GET") =>
  fetch(`http://127.0.0.1:${port}${account}`, { method }).then(async (answer) => {
    await answer.arrayBuffer()
    return answer.status
  })

/** Asks for one, and never reads it. */
const unread = async (port: number, account: string, method = "GET") => {
  const socket = connect(port, "127.0.0.1").on("error", () => {})
  socket.write(`${method} ${account} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`)
  await once(socket, "readable")
  return socket
}

it.live("a client that reads no byte of a large answer is cut off, which frees its slot", () =>
  serving({ stalledMs: 300 }, async (port) => {
    const socket = await unread(port, "/one")
    assert.strictEqual(await statusOf(port, "/one"), 200)
    socket.destroy()
  })
)

it.live("an account without an open answer gets its first, however many others keep unread", () =>
  serving({ patienceMs: 200 }, async (port) => {
    const socket = await unread(port, "/one")
    assert.deepStrictEqual([await statusOf(port, "/two"), await statusOf(port, "/one")], [200, 429])
    socket.destroy()
  })
)

it.live("of commands are counted at their end: past the bound an account runs no further one until some are read", () =>
  serving({ patienceMs: 200 }, async (port) => {
    const kept = [await unread(port, "/one", "POST"), await unread(port, "/one", "POST")]
    assert.strictEqual(await statusOf(port, "/one", "POST"), 429)
    kept.push(await unread(port, "/two", "POST"))
    // The process has its most. Who has nothing unread goes on.
    assert.deepStrictEqual(
      [await statusOf(port, "/two", "POST"), await statusOf(port, "/three", "POST"), await statusOf(port, "/one")],
      [429, 200, 200]
    )
    for (const socket of kept) socket.destroy()
    assert.strictEqual(await statusOf(port, "/one", "POST"), 200)
  })
)

it.live("of commands make the next one wait only until one is read, or cut off", () =>
  serving({ stalledMs: 300 }, async (port) => {
    const kept = [await unread(port, "/one", "POST"), await unread(port, "/one", "POST")]
    assert.strictEqual(await statusOf(port, "/one", "POST"), 200)
    for (const socket of kept) socket.destroy()
  })
)
