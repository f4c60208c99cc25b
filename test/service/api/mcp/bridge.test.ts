/**
 * `atoll mcp` before a service that misbehaves on demand, as no real one does: it cuts a connection at a known moment,
 * refuses, answers as a stream.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { resolve } from "node:path"
import { text } from "node:stream/consumers"
import { afterEach, assert, describe, it } from "@effect/vitest"
import { Bridge } from "../../../../clients/typescript/src/cli/mcp/Bridge.ts"
import { Atoll } from "../../../../clients/typescript/src/index.ts"
import { freePort } from "../../../support/freePort.ts"

// biome-ignore lint/suspicious/noExplicitAny: messages of every shape
type Message = any

const keyed = { inputSchema: { properties: { idempotencyKey: {} } } }
const tools = [
  { name: "run", ...keyed },
  { name: "look", annotations: { readOnlyHint: true } },
  { name: "edit", annotations: { readOnlyHint: false, idempotentHint: false } }
]

/** How the service treats one request; `done` is its answer when it does not interfere. */
type Meeting = (request: IncomingMessage, response: ServerResponse, done: () => void) => void

const cut: Meeting = (request) => request.socket.destroy()
const refuse =
  (status: number, body: object): Meeting =>
  (_, response) => {
    response.writeHead(status, { "content-type": "application/json", "retry-after": "0" })
    response.end(JSON.stringify(body))
  }
const unavailable = (details: object | null) =>
  refuse(503, { code: "SERVICE_UNAVAILABLE", message: "The service stopped.", requestId: "req_1", details })

interface Service {
  readonly url: string
  /** All requests that were applied and answered. */
  readonly done: Array<Message>
  /** All requests that arrived. */
  readonly seen: Array<{ readonly message: Message; readonly headers: IncomingMessage["headers"] }>
  /** The treatment of the next requests, in order; later ones are answered. */
  readonly meetings: Array<Meeting>
}

const servers: Array<Server> = []

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

const service = async (port = 0): Promise<Service> => {
  const done: Service["done"] = []
  const seen: Service["seen"] = []
  const meetings: Service["meetings"] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const message = JSON.parse(body)
      const answer = () => {
        done.push(message)
        const result = message.method === "tools/list" ? { tools } : { told: message.params }
        response.writeHead(200, { "content-type": "application/json" })
        response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }))
      }
      // The requests that the bridge makes for itself.
      if (message.id === 0) return answer()
      seen.push({ message, headers: request.headers })
      const meet = meetings.shift()
      return meet === undefined ? answer() : meet(request, response, answer)
    })
  })
  servers.push(server)
  server.listen(port, "127.0.0.1")
  await once(server, "listening")
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, done, seen, meetings }
}

const bridgeTo = (url: string, patienceSeconds = 60) => {
  const written: Array<Message> = []
  const { api } = new Atoll({ url, apiKey: "atoll_live_x", patienceSeconds })
  const bridge = new Bridge(api, async (message) => void written.push(message))
  return {
    written,
    take: (message: Message) => bridge.take(typeof message === "string" ? message : JSON.stringify(message)),
    raw: bridge
  }
}

const call = (name: string, given: object = {}, id: number | string = 1) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: given }
})

describe("atoll mcp", () => {
  it("repeats safe requests, and those that it gave a key, with that key", async () => {
    const { url, meetings, seen, done } = await service()
    const { take, written } = bridgeTo(url)
    meetings.push(cut, unavailable({ outcome: "unknown" }), cut)
    await take(call("run", { command: "x" }))
    meetings.push(cut)
    await take(call("look", {}, 2))
    meetings.push(cut)
    await take({ jsonrpc: "2.0", id: 3, method: "tools/list" })
    meetings.push(cut)
    await take(call("run", { idempotencyKey: "own" }, 4))
    assert.deepStrictEqual(
      written.map(({ id, result }) => [id, result !== undefined]),
      [1, 2, 3, 4].map((id) => [id, true])
    )
    const keys = seen.map(({ message }) => message.params?.arguments?.idempotencyKey)
    assert.match(keys[0], /^[0-9a-f-]{36}$/)
    assert.deepStrictEqual(keys, [keys[0], keys[0], keys[0], keys[0], ...Array(4).fill(undefined), "own", "own"])
    assert.lengthOf(
      done.filter(({ id }) => id !== 0),
      4
    )
  })

  it("reports an unknown outcome for a request that may not be repeated", async () => {
    const { url, meetings, seen, done } = await service()
    const { take, written } = bridgeTo(url)
    meetings.push((request, _, answer) => {
      answer()
      request.socket.destroy()
    })
    meetings.push(cut, unavailable({ outcome: "unknown" }))
    for (const id of [1, 2, 3]) await take(call("edit", {}, id))
    assert.lengthOf(seen, 3)
    assert.lengthOf(
      done.filter(({ id }) => id !== 0),
      1
    )
    // The first answer may have come before the end of its connection.
    for (const { error } of written.slice(1)) {
      assert.strictEqual(error.code, -32_000)
      assert.strictEqual(error.data.outcome, "unknown")
      assert.match(error.message, /It may have been done: look before you repeat it/)
    }
    assert.strictEqual(written[2].error.data.code, "SERVICE_UNAVAILABLE")
  })

  it("waits for a service that is away, with every request: nothing was applied", async () => {
    const port = await freePort()
    const { take, written } = bridgeTo(`http://127.0.0.1:${port}`)
    const asked = take(call("edit"))
    const { meetings, seen } = await service(port)
    meetings.push(unavailable(null))
    await asked
    assert.deepStrictEqual(written[0].result, { told: { name: "edit", arguments: {} } })
    assert.lengthOf(seen, 2)
  })

  it("reports in the client's protocol what the service refuses, or that it is away", async () => {
    const { url, meetings } = await service()
    const { take, written } = bridgeTo(url)
    meetings.push(refuse(401, { code: "UNAUTHENTICATED", message: "No.", requestId: "req_1", details: null }))
    await take(call("look"))
    assert.match(written[0].error.message, /does not take this API key/)
    assert.deepInclude(written[0].error.data, { code: "UNAUTHENTICATED", outcome: "notApplied", requestId: "req_1" })
    const error = { code: -32_602, message: "Unknown" }
    meetings.push(refuse(400, { jsonrpc: "2.0", id: null, error }))
    await take(call("look", {}, "a"))
    assert.deepStrictEqual(written[1], { jsonrpc: "2.0", id: "a", error })

    const away = bridgeTo(`http://127.0.0.1:${await freePort()}`, 0)
    await away.take({ jsonrpc: "2.0", id: 7, method: "tools/list" })
    assert.match(away.written[0].error.message, /was not reached: nothing listens there/)
    assert.strictEqual(away.written[0].error.data.outcome, "notApplied")
  })

  it("sends the headers of the specification, and reads an answer that is a stream", async () => {
    const { url, seen, meetings } = await service()
    const { take, written } = bridgeTo(url)
    meetings.push((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      const told = (message: object) => response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
      told({ jsonrpc: "2.0", method: "notifications/progress", params: {} })
      told({ jsonrpc: "2.0", id: 1, result: { protocolVersion: "2025-11-25" } })
      response.end()
    })
    await take({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} })
    assert.deepStrictEqual(
      written.map(({ method, id }) => method ?? id),
      ["notifications/progress", 1]
    )
    await take({ jsonrpc: "2.0", id: 2, method: "tools/list" })
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" }
    await take({ jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "schön", arguments: {}, _meta } })
    const headers = seen.map(({ headers }) => headers)
    assert.isUndefined(headers[0]!["mcp-protocol-version"])
    assert.strictEqual(headers[1]!["mcp-protocol-version"], "2025-11-25")
    assert.strictEqual(headers[1]!.authorization, "Bearer atoll_live_x")
    assert.deepInclude(headers[2], {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": `=?base64?${Buffer.from("schön").toString("base64")}?=`
    })
  })

  it("answers malformed messages, sends no answer to notifications, and abandons cancelled requests", async () => {
    const { url, seen, meetings } = await service()
    const { take, written, raw } = bridgeTo(url)
    await take("{")
    await take("[]")
    await take('{"id":1,"method":"ping"}')
    await raw.take(null)
    assert.deepStrictEqual(
      written.splice(0).map(({ id, error }) => [id, error.code]),
      [
        [null, -32_700],
        [null, -32_600],
        [null, -32_600],
        [null, -32_600]
      ]
    )
    await take({ jsonrpc: "2.0", method: "notifications/initialized" })
    await take({ jsonrpc: "2.0", id: 1, result: {} })
    assert.lengthOf(seen, 0)
    const arrived = new Promise<void>((told) => meetings.push(() => told()))
    const waiting = take(call("look"))
    await arrived
    await take({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } })
    await waiting
    assert.lengthOf(written, 0)
  })

  it("ends with its input once all requests are answered, and immediately on a signal", async () => {
    const { url } = await service()
    const start = () =>
      spawn(process.execPath, [resolve("clients/typescript/src/cli/main.ts"), "mcp"], {
        env: { PATH: process.env["PATH"], ATOLL_URL: url, ATOLL_API_KEY: "atoll_live_x" }
      })
    const piped = start()
    const said = text(piped.stdout)
    const remarks = text(piped.stderr)
    piped.stdin.end(`${JSON.stringify(call("look"))}\n\n${JSON.stringify(call("edit", { a: "\n" }, 2))}`)
    assert.deepStrictEqual(await once(piped, "close"), [0, null])
    const answers = (await said).trimEnd().split("\n")
    assert.sameMembers(
      answers.map((line) => JSON.parse(line).id),
      [1, 2]
    )
    assert.strictEqual(await remarks, "")

    const signalled = start()
    signalled.stdin.write(`${JSON.stringify(call("look"))}\n`)
    await once(signalled.stdout, "data")
    signalled.kill("SIGTERM")
    assert.deepStrictEqual(await once(signalled, "close"), [0, null])
  })
})
