/** A listener's end: it loses no request that a client sent before it could know of the end, and it is short. */
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { Agent, createServer, get, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { get as getSecurely } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, assert, describe, it } from "vitest"
import { drainOnClose } from "../../../../src/api/http/Draining.ts"
import { protocolServer } from "../../../../src/api/http/ProtocolServer.ts"
import { selfSigned } from "../../../support/selfSigned.ts"

const withinMs = 3000
/** Longer than a busy machine may delay a test: for an end that waits only for work that was under way before it. */
const atLeisureMs = 60_000
const servers: Array<Server> = []

const serve = async (
  handler: (request: IncomingMessage, response: ServerResponse) => void,
  endsWithinMs: number,
  begin = () => {}
) => {
  const server = createServer({ keepAliveTimeout: 60_000 }, handler)
  drainOnClose(server, endsWithinMs, begin)
  servers.push(server)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return { server, port: (server.address() as { port: number }).port }
}

const ask = async (agent: Agent, port: number, path = "/") => {
  const [answer] = (await once(get({ agent, port, path, host: "127.0.0.1" }), "response")) as [IncomingMessage]
  const chunks = await answer.toArray()
  return { status: answer.statusCode, connection: answer.headers.connection, body: Buffer.concat(chunks).toString() }
}

const closed = (server: Server) => {
  const began = Date.now()
  return new Promise<number>((resolve) => server.close(() => resolve(Date.now() - began)))
}

afterEach(() => {
  for (const server of servers.splice(0)) server.closeAllConnections()
})

describe("a listener that ends", () => {
  it("serves the next request of each open connection and closes it then", async () => {
    const { server, port } = await serve((_request, response) => response.end("done"), atLeisureMs)
    const agents = Array.from({ length: 5 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
    for (const agent of agents) assert.strictEqual((await ask(agent, port)).connection, "keep-alive")
    const ending = closed(server)
    // The requests go out concurrently: the listener considers a connection idle that is silent for a moment.
    for (const answer of await Promise.all(agents.map((agent) => ask(agent, port)))) {
      assert.deepStrictEqual(answer, { status: 200, connection: "close", body: "done" })
    }
    assert.isBelow(await ending, atLeisureMs)
  })

  it("answers a request that is under way, with Connection: close", async () => {
    const waiting: Array<ServerResponse> = []
    const { server, port } = await serve(
      (_request, response) => void waiting.push(response),
      atLeisureMs,
      () => {
        for (const response of waiting) response.end("as it is")
      }
    )
    const answer = ask(new Agent({ keepAlive: true }), port)
    while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const ending = closed(server)
    assert.deepStrictEqual(await answer, { status: 200, connection: "close", body: "as it is" })
    assert.isBelow(await ending, atLeisureMs)
  })

  it("does not wait for an idle connection, and waits a bounded time for an answer that does not come", async () => {
    const { server, port } = await serve((request, response) => {
      if (request.url === "/quick") response.end("done")
    }, withinMs)
    await ask(new Agent({ keepAlive: true }), port, "/quick")
    const never = get({ port, host: "127.0.0.1", path: "/never" }).on("error", () => {})
    await once(server, "request")
    const took = await closed(server)
    assert.isAtLeast(took, withinMs)
    assert.isBelow(took, withinMs + atLeisureMs)
    never.destroy()
  })

  it("refuses with 503 a request that comes when no time is left", async () => {
    let late: Promise<unknown> = Promise.resolve()
    const { server, port } = await serve((_request, response) => {
      response.writeHead(200, { "content-length": "1" })
      // The head was sent before the end, so it could not announce the close.
      response.flushHeaders()
      late = new Promise((resolve) => setTimeout(resolve, 700)).then(() => response.end("x"))
    }, withinMs)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const first = ask(agent, port)
    await once(server, "request")
    const ending = closed(server)
    await first
    await late
    const refused = await ask(agent, port)
    assert.strictEqual(refused.status, 503)
    assert.strictEqual(refused.connection, "close")
    assert.strictEqual(JSON.parse(refused.body).code, "SERVICE_UNAVAILABLE")
    await ending
  })

  it("answers over TLS, too, a request that is under way on a silent connection", async () => {
    const folder = mkdtempSync(join(tmpdir(), "atoll-draining-"))
    try {
      const certificate = selfSigned(folder, "draining", ["IP:127.0.0.1"])
      const server = protocolServer(certificate)
      server.on("request", (_request, response: ServerResponse) => {
        setTimeout(() => response.end("after a while"), 700)
      })
      drainOnClose(server, atLeisureMs, () => {})
      servers.push(server)
      await once(server.listen(0, "127.0.0.1"), "listening")
      const { port } = server.address() as { port: number }
      const asked = getSecurely({ host: "127.0.0.1", port, ca: certificate.cert })
      const answered = once(asked, "response")
      await once(server, "request")
      const ending = closed(server)
      const [answer] = (await answered) as [IncomingMessage]
      assert.strictEqual(answer.headers.connection, "close")
      assert.strictEqual(Buffer.concat(await answer.toArray()).toString(), "after a while")
      assert.isBelow(await ending, atLeisureMs)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
