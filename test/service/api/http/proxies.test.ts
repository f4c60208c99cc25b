/** The service behind proxies: which address it takes for the caller's, wherever it stores or counts callers. */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Logger } from "effect"
import { WebSocket } from "ws"
import type { AuditEvent } from "../../../../schemas/Audit.ts"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { lines, linesWith, remember } from "../../../support/serviceLog.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { httpPort, listenInside, tcpPort } from "./listenInside.ts"

/** Each address of 127.0.0.0/8 belongs to this machine; those that connect to a fleet's services are lodged. */
const own = (last: number): string => `${isOverAFleet ? "192.0.2" : "127.0.0"}.${last}`
const [inner, outer, visitor] = [own(2), own(3), own(9)]
const visitor6 = isOverAFleet ? "2001:db8::9" : "::1"
/** Each has its own budget of tries. */
const [first, second, liar, stranger] = [own(21), own(22), own(23), own(24)]
const callers = [inner, outer, visitor, visitor6, first, second, liar, stranger]

interface At {
  readonly host: string
  readonly port: number
}

interface Sent {
  /** The address that the request comes from. */
  readonly from: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

const ask = async (
  { host, port }: At,
  path: string,
  { from, method = "GET", headers = {}, body }: Sent
): Promise<{ readonly status: number; readonly text: string; readonly headers: IncomingHttpHeaders }> => {
  const bytes = body === undefined ? undefined : JSON.stringify(body)
  const asked = request({
    port,
    host,
    localAddress: from,
    method,
    path,
    agent: false,
    headers: { ...(bytes === undefined ? {} : { "content-type": "application/json" }), ...headers }
  })
  asked.end(bytes)
  const [answer] = (await once(asked, "response")) as [IncomingMessage]
  let text = ""
  for await (const chunk of answer) text += chunk
  return { status: answer.statusCode!, text, headers: answer.headers }
}

/** The service's own listener; in a fleet, each service's in turn. */
const inTurn = ({ listeners }: ServedAtoll["Service"]) => {
  let turn = 0
  return (): ServedAtoll["Service"]["listeners"][number] => listeners[turn++ % listeners.length]!
}

/** A small proxy at an address, which sends from that address and adds the address of its caller. */
const proxyTo = (next: () => At, from: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server: Server = createServer((asked, answer) => {
        const before = asked.headers["x-forwarded-for"]
        const own = asked.socket.remoteAddress!
        const { host, port } = next()
        const sent = request(
          {
            port,
            host,
            localAddress: from,
            method: asked.method,
            path: asked.url,
            agent: false,
            headers: { ...asked.headers, "x-forwarded-for": before === undefined ? own : `${before}, ${own}` }
          },
          (got) => {
            answer.writeHead(got.statusCode!, got.headers)
            got.pipe(answer)
          }
        )
        asked.pipe(sent)
      })
      await once(server.listen(0, from), "listening")
      return server
    }),
    (server) => Effect.sync(() => void server.close())
  ).pipe(Effect.map((server): At => ({ host: from, port: (server.address() as AddressInfo).port })))

class World extends Context.Service<World, SimulatedWorld>()("atoll/test/World") {}

const environment = {
  // Both families on one socket: IPv4 addresses reach it as ::ffff:127.0.0.2.
  ATOLL_HOST: "::",
  ATOLL_TRUSTED_PROXIES: `${inner}, ${outer},fd00::/8`,
  ATOLL_SERVICE_ACCESS: "on"
}

const served = ServedAtoll.layer(Layer.effect(Runtime, Effect.map(World, simulatedRuntime)), environment, callers).pipe(
  Layer.provideMerge(Layer.effect(World, SimulatedWorld.make)),
  Layer.provideMerge(TestDatabase.layer),
  Layer.provide(Logger.layer([remember]))
)

layer(served, { excludeTestServices: true })("a service behind proxies", (it) => {
  /** The source address of a refused call in the audit log. */
  const audited = async (api: ServedAtoll["Service"], at: At, sent: Sent): Promise<string | null | undefined> => {
    const id = randomUUID()
    const { status, text } = await ask(at, "/api/v2/workspaces", {
      method: "POST",
      body: {},
      ...sent,
      headers: { authorization: `Bearer ${api.key}`, "x-request-id": id, ...sent.headers }
    })
    assert.strictEqual(status, 400, text)
    await api.auditWritten()
    const { json } = await api.send("GET", "/api/v2/usage/audit?limit=1000")
    return (json.events as ReadonlyArray<AuditEvent>).find(({ requestId }) => requestId === id)?.sourceIp
  }

  it.effect("audits the address that trusted proxies name, and a stranger by the stranger's address", () =>
    Effect.gen(function* () {
      const api = yield* ServedAtoll
      const next = inTurn(api)
      const last = yield* proxyTo(next, inner)
      const first = yield* proxyTo(() => last, outer)
      yield* Effect.promise(async () => {
        for (const { host, host6, port } of api.listeners) {
          assert.strictEqual(await audited(api, last, { from: visitor }), visitor)
          assert.strictEqual(await audited(api, first, { from: visitor }), visitor)
          const lies = { "x-forwarded-for": `6.6.6.6, ${outer}` }
          assert.strictEqual(await audited(api, first, { from: visitor, headers: lies }), visitor)
          const it = { host, port }
          assert.strictEqual(await audited(api, it, { from: visitor, headers: lies }), visitor)
          const sixth = { host: host6, port }
          assert.strictEqual(await audited(api, sixth, { from: visitor6, headers: lies }), visitor6)
          const said = { "x-forwarded-for": "2001:db8::7" }
          assert.strictEqual(await audited(api, it, { from: inner, headers: said }), "2001:db8::7")
          const forwarded = { forwarded: 'for="[2001:db8::8]:4711";proto=https' }
          assert.strictEqual(await audited(api, it, { from: inner, headers: forwarded }), "2001:db8::8")
          assert.strictEqual(await audited(api, it, { from: visitor, headers: forwarded }), visitor)
        }
      })
    })
  )

  it.effect("does not believe a proxy that passes on a visitor's other header, and logs so", () =>
    Effect.gen(function* () {
      const api = yield* ServedAtoll
      const proxy = yield* proxyTo(inTurn(api), inner)
      yield* Effect.promise(async () => {
        lines.length = 0
        const lie = { forwarded: "for=6.6.6.6" }
        const services = api.listeners.length
        for (let time = 0; time < 2 * services; time++) {
          assert.strictEqual(await audited(api, proxy, { from: visitor, headers: lie }), inner)
        }
        // Each service logs it once.
        const told = await linesWith("name different clients", ({ length }) => length >= services)
        assert.lengthOf(told, services, lines.join("\n"))
      })
    })
  )

  it.effect("limits the tries of each caller behind the proxy, and no header gets a stranger more of them", () =>
    Effect.gen(function* () {
      const api = yield* ServedAtoll
      const next = inTurn(api)
      const proxy = yield* proxyTo(next, inner)
      const tries = (count: number, at: () => At, sent: (at: number) => Sent) =>
        Promise.all(
          Array.from({ length: count }, (_, one) =>
            ask(at(), "/console/api/sign-in-link", {
              method: "POST",
              body: { code: "A".repeat(43) },
              ...sent(one)
            })
          )
        ).then((answers) => answers.map(({ status }) => status))
      const byProxy = () => proxy
      yield* Effect.promise(async () => {
        assert.include(await tries(80, byProxy, () => ({ from: first })), 429)
        assert.deepStrictEqual(await tries(1, byProxy, () => ({ from: second })), [401])
        const lies = (from: string) => (at: number) => ({ from, headers: { "x-forwarded-for": `203.0.113.${at}` } })
        assert.include(await tries(80, byProxy, lies(liar)), 429)
        assert.include(await tries(80, next, lies(stranger)), 429)
      })
    })
  )

  it.effect("stores with sessions and keys the address that the proxy names", () =>
    Effect.gen(function* () {
      const api = yield* ServedAtoll
      const next = inTurn(api)
      yield* Effect.promise(async () => {
        const code = await api.newLink()
        const via = (address: string) => ({ from: inner, headers: { "x-forwarded-for": address } })
        const opened = await ask(next(), "/console/api/sign-in-link", {
          method: "POST",
          body: { code },
          ...via("203.0.113.77")
        })
        assert.strictEqual(opened.status, 200, opened.text)
        const cookie = opened.headers["set-cookie"]![0]!.split(";", 1)[0]!
        const { csrf } = JSON.parse(opened.text).session
        await ask(next(), "/api/v2/me", {
          from: inner,
          headers: { authorization: `Bearer ${api.key}`, "x-forwarded-for": "203.0.113.78" }
        })
        const read = async (path: string) =>
          JSON.parse((await ask(next(), path, { from: visitor, headers: { cookie, "x-atoll-csrf": csrf } })).text)
        const { sessions } = await read("/console/api/sessions")
        assert.deepInclude(sessions[0], { isCurrent: true, sourceIp: "203.0.113.77" })
        const { keys } = await read("/console/api/keys")
        assert.deepInclude(keys[0], { lastUsedFrom: "203.0.113.78" })
      })
    })
  )

  it.effect("audits terminals and tunnels, which no route serves, with the address that the proxy names", () =>
    Effect.gen(function* () {
      const api = yield* ServedAtoll
      const next = inTurn(api)
      const world = yield* World
      yield* Effect.promise(async () => {
        const sandboxId = await api.newSandbox(api.key, { networkEnabled: true })
        await listenInside(sandboxId, api.send, world)
        const access = await api.send("POST", `/api/v2/sandboxes/${sandboxId}/services`, {
          body: { requested_at: new Date().toISOString(), ports: [tcpPort] },
          headers: { "idempotency-key": randomUUID() }
        })
        const open = async (path: string, bearer: string, address: string) => {
          const headers = { authorization: `Bearer ${bearer}`, "x-forwarded-for": address }
          const { host, port } = next()
          const socket = new WebSocket(`ws://${host}:${port}${path}`, [], { localAddress: inner, headers })
          await once(socket, "open")
          socket.terminate()
        }
        await open(`/api/v2/tunnel?port=${tcpPort}`, access.json.capability, "203.0.113.91")
        await open(`/api/v2/sandboxes/${sandboxId}/terminal?columns=80&rows=24`, api.key, "203.0.113.92")
        await api.auditWritten()
        const { json } = await api.send("GET", "/api/v2/usage/audit?limit=1000")
        const from = (wanted: string) =>
          (json.events as ReadonlyArray<AuditEvent>).find(({ action }) => action === wanted)?.sourceIp
        assert.deepStrictEqual([from("openTunnel"), from("openTerminal")], ["203.0.113.91", "203.0.113.92"])
      })
    })
  )

  it.effect("passes to a preview's program the visitor and https as the proxy names them", () =>
    Effect.gen(function* () {
      const api = yield* ServedAtoll
      const world = yield* World
      yield* Effect.promise(async () => {
        const sandboxId = await api.newSandbox(api.key, { networkEnabled: true })
        await listenInside(sandboxId, api.send, world)
        const made = await api.send("POST", `/api/v2/sandboxes/${sandboxId}/previews`, {
          body: { port: httpPort },
          headers: { "idempotency-key": randomUUID() }
        })
        const { hostname } = made.json.preview
        const said = { host: hostname, "x-forwarded-for": "6.6.6.6, 203.0.113.5", "x-forwarded-proto": "https" }
        const told = async (at: At, from: string) => {
          const heard = JSON.parse((await ask(at, "/", { from, headers: said })).text)
          return [heard["x-forwarded-for"], heard["x-forwarded-proto"]]
        }
        for (const at of api.listeners) {
          assert.deepStrictEqual(await told(at, inner), ["6.6.6.6, 203.0.113.5", "https"])
          assert.deepStrictEqual(await told(at, visitor), [`6.6.6.6, 203.0.113.5, ${visitor}`, "http"])
        }
      })
    })
  )
})
