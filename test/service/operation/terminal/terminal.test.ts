/**
 * Which clients may open a terminal, the refusals and their form, what ends a terminal, and what neither a client nor
 * an agent can do to the service.
 */
import { randomUUID } from "node:crypto"
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { WebSocket } from "ws"
import { scopes } from "../../../../schemas/Access.ts"
import { terminalInputMaxBytes, terminalsPerSandbox } from "../../../../schemas/Limits.ts"
import { awaitLeases } from "../../../../src/account/KeyLease.ts"
import { FrameType, frameHead } from "../../../../src/agent/processes/processFrames.ts"
import { OUTPUT_END_MAX } from "../../../../src/agent/wire.ts"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { exitedFrame, settledFrame } from "../../../support/agent/hostile/endFrames.ts"
import { HostileAgent } from "../../../support/agent/hostile/HostileAgent.ts"
import { bytes, type Script } from "../../../support/agent/hostile/script.ts"
import { Browser } from "../../../support/console/server/Browser.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { type Offer, type Refusal, TerminalClient } from "../../../support/terminal/TerminalClient.ts"

const pathOf = (sandboxId: string, query = "?columns=80&rows=24") => `/api/v2/sandboxes/${sandboxId}/terminal${query}`

const opened = async (port: number, path: string, offer: Offer): Promise<TerminalClient> => {
  const found = await TerminalClient.open(port, path, offer)
  assert.instanceOf(found, TerminalClient, JSON.stringify(found))
  return found as TerminalClient
}

const refused = async (port: number, path: string, offer: Offer = {}): Promise<Refusal> => {
  const found = await TerminalClient.open(port, path, offer)
  assert.notInstanceOf(found, TerminalClient)
  const { status, headers, json } = found as Refusal
  assert.strictEqual(headers["x-request-id"], json.requestId)
  return { status, headers, json }
}

const codeOf = async (port: number, path: string, offer: Offer = {}) => {
  const { status, json } = await refused(port, path, offer)
  return [status, json.code]
}

/** Sandboxes whose agent was taken over, by their ids. */
class Taken extends Context.Service<Taken, { readonly ids: Set<string>; readonly agent: HostileAgent }>()(
  "atoll/test/Taken"
) {}

const runtime = Layer.effect(
  Runtime,
  Effect.gen(function* () {
    const { ids, agent } = yield* Taken
    const simulated = simulatedRuntime(yield* SimulatedWorld.make)
    return Runtime.of({
      ...simulated,
      guest: (sandboxId, generation) =>
        ids.has(sandboxId) ? Effect.succeed(agent.guest) : simulated.guest(sandboxId, generation)
    })
  })
)

const taken = Layer.effect(
  Taken,
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(() => HostileAgent.start()),
      (agent) => Effect.promise(() => agent.end())
    ),
    (agent) => ({ ids: new Set<string>(), agent })
  )
)

/** A prepaid account has no credit here. */
const noCredit = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`
      create function exhaust() returns trigger language plpgsql as $$
      begin if new.billing = 'prepaid' then new.exhausted_at := 1; end if; return new; end $$`
    yield* sql`create trigger exhaust before update on accounts for each row execute function exhaust()`
  })
)

const service = Layer.merge(ServedAtoll.layer(runtime), noCredit).pipe(
  Layer.provideMerge(taken),
  Layer.provideMerge(TestDatabase.layer)
)

/** Another Sandbox, beside it. */
const another = (environment: Readonly<Record<string, string>> = {}) =>
  Layer.fresh(ServedAtoll.layer(runtime, environment)).pipe(Layer.provide(Layer.fresh(TestDatabase.layer)))

/** On a host of a fleet, only virtual machines sleep. */
const machines = isOverAFleet ? await import("../../../support/host/qemu/TestMachines.ts") : null

type Run = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) => Promise<A>

const withAtoll = <A>(test: (atoll: ServedAtoll["Service"], run: Run, hostile: Taken["Service"]) => Promise<A>) =>
  Effect.gen(function* () {
    const atoll = yield* ServedAtoll
    const hostile = yield* Taken
    const context = yield* Effect.context<SqlClient.SqlClient>()
    const run: Run = (effect) => Effect.runPromise(Effect.provideContext(effect, context))
    return yield* Effect.promise(() => test(atoll, run, hostile))
  })

const signedIn = async ({ port, newLink }: ServedAtoll["Service"]) => {
  const browser = new Browser(port)
  const answer = await browser.console("POST", "/sign-in-link", { code: await newLink() })
  assert.strictEqual(answer.status, 200, answer.text)
  const ticket = async (): Promise<string> => (await browser.console("POST", "/tickets")).json.ticket
  return { browser, ticket }
}

layer(service, { excludeTestServices: true })("a terminal", (it) => {
  it.effect("opens with a key, or once with a ticket, and is in the audit log with its source", () =>
    withAtoll(async (atoll) => {
      const { port, key, send } = atoll
      const id = await atoll.newSandbox()
      const { browser, ticket } = await signedIn(atoll)
      const byKey = await opened(port, pathOf(id), { key, headers: { "x-request-id": "by-key" } })
      assert.strictEqual(byKey.headers["x-request-id"], "by-key")
      assert.strictEqual(byKey.socket.protocol, "")
      byKey.type("echo by a key")
      await byKey.shows("echo by a key")
      await byKey.cut()

      const offered = await opened(port, pathOf(id), {
        protocols: ["atoll.terminal", key],
        headers: { "x-request-id": "by-key" }
      })
      assert.strictEqual(offered.socket.protocol, "atoll.terminal")
      offered.type("echo by an offered key")
      await offered.shows("echo by an offered key")
      await offered.cut()
      const unknown = `atoll_live_${"0".repeat(43)}`
      assert.deepStrictEqual(await codeOf(port, pathOf(id), { protocols: ["atoll.terminal", unknown] }), [
        401,
        "UNAUTHENTICATED"
      ])
      const both = { protocols: ["atoll.terminal", key], headers: { authorization: `Bearer ${unknown}` } }
      assert.deepStrictEqual(await codeOf(port, pathOf(id), both), [401, "UNAUTHENTICATED"])

      const one = await ticket()
      const protocols = ["atoll.terminal", one]
      const byTicket = await opened(port, pathOf(id), { protocols, headers: { "x-request-id": "by-ticket" } })
      assert.strictEqual(byTicket.socket.protocol, "atoll.terminal")
      byTicket.type("echo by a ticket")
      await byTicket.shows("echo by a ticket")
      await byTicket.cut()
      assert.deepStrictEqual(await codeOf(port, pathOf(id), { protocols }), [401, "UNAUTHENTICATED"])

      const elsewhere = { protocols: ["atoll.terminal", await ticket()], headers: { origin: "https://evil.example" } }
      assert.deepStrictEqual(await codeOf(port, pathOf(id), elsewhere), [403, "CROSS_SITE_REQUEST"])
      const cookie = { cookie: browser.cookie!, "x-atoll-csrf": browser.csrf! }
      assert.deepStrictEqual(await codeOf(port, pathOf(id), { headers: cookie }), [401, "UNAUTHENTICATED"])

      await atoll.auditWritten()
      const { events } = (await send("GET", `/api/v2/usage/audit?sandboxId=${id}&action=openTerminal`)).json
      const told = events
        .toReversed()
        .map((event: Record<string, unknown>) => [
          event["source"],
          event["status"],
          event["errorCode"],
          event["targetType"],
          event["targetId"],
          event["path"],
          event["requestId"] === "by-key" || event["requestId"] === "by-ticket",
          event["keyName"]
        ])
      const path = pathOf(id, "")
      assert.deepStrictEqual(told, [
        ["api", 101, null, "sandbox", id, path, true, "Bootstrap"],
        ["api", 101, null, "sandbox", id, path, true, "Bootstrap"],
        ["console", 101, null, "sandbox", id, path, true, null],
        ["console", 403, "CROSS_SITE_REQUEST", "sandbox", id, path, false, null]
      ])
      assert.notInclude(JSON.stringify(events), one)
    })
  )

  it.effect("is refused before the handshake, in the order of checks, with the same error as a plain request", () =>
    withAtoll(async ({ port, key, send, newKey, newSandbox }, run) => {
      const id = await newSandbox()
      const none = "sbx_00000000000000000000000000"
      const reader = (await newKey(["sandbox:read"])).secret
      const poor = (await newKey(scopes, "poor")).secret
      const poors = await newSandbox(poor)
      await send("POST", `/api/v2/sandboxes/${poors}/stop`, { key: poor })
      const stopped = await newSandbox()
      await send("POST", `/api/v2/sandboxes/${stopped}/stop`)
      await run(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`update accounts set billing = 'prepaid' where name = 'poor'`
          yield* awaitLeases
        })
      )
      const expected: ReadonlyArray<readonly [path: string, key: string | undefined, status: number, code: string]> = [
        [pathOf(none, "?columns=0"), undefined, 401, "UNAUTHENTICATED"],
        [pathOf(none, "?columns=0"), "nonsense", 401, "UNAUTHENTICATED"],
        [pathOf(none, "?columns=0"), reader, 403, "SCOPE_REQUIRED"],
        [pathOf(none, "?columns=0"), key, 400, "INVALID_REQUEST"],
        [pathOf(id, "?columns=1001"), key, 400, "INVALID_REQUEST"],
        [pathOf(id, "?rows=24.5"), key, 400, "INVALID_REQUEST"],
        [pathOf(id, "?rows=24&rows=25"), key, 400, "INVALID_REQUEST"],
        [pathOf(id, "?column=80"), key, 400, "INVALID_REQUEST"],
        [pathOf(none), key, 404, "NOT_FOUND"],
        [pathOf("x"), key, 404, "NOT_FOUND"],
        [pathOf(id), poor, 404, "NOT_FOUND"],
        [pathOf(poors), poor, 402, "CREDIT_EXHAUSTED"],
        [pathOf(stopped), key, 502, "SANDBOX_UNAVAILABLE"]
      ]
      for (const [path, own, status, code] of expected) {
        const offer = own === undefined ? {} : { key: own }
        assert.deepStrictEqual(await codeOf(port, path, offer), [status, code], `${path} ${status}`)
        const plain = await send("GET", path, { key: own ?? null })
        assert.deepStrictEqual([plain.status, plain.json.code], [status, code], `${path} ${status}, asked plainly`)
      }
      const { json } = await refused(port, pathOf(stopped), { key })
      assert.deepStrictEqual(json.details, { status: "stopped" })
      const misspelt = await refused(port, pathOf(id, "?column=80"), { key })
      assert.include(misspelt.json.details.issues[0].message, "columns")

      const plain = await send("GET", pathOf(id))
      assert.deepStrictEqual([plain.status, plain.json.details.issues[0].path], [400, ["Upgrade"]])
      const handshake = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-key": "x" }
      const badly = await send("GET", pathOf(id), { headers: { ...handshake, "sec-websocket-version": "13" } })
      assert.deepStrictEqual([badly.status, badly.json.code], [400, "INVALID_REQUEST"])
      const other = await send("GET", pathOf(id), { headers: { connection: "Upgrade", upgrade: "h2c" } })
      assert.deepStrictEqual([other.status, other.json.code], [400, "INVALID_REQUEST"])
      const posted = await send("POST", pathOf(id), { headers: handshake })
      assert.deepStrictEqual([posted.status, posted.headers["allow"]], [405, "GET, HEAD, OPTIONS"])
    })
  )

  it.effect(`is one of at most ${terminalsPerSandbox} of its Sandbox; each frees its slot`, () =>
    withAtoll(async ({ port, key, newSandbox }) => {
      const id = await newSandbox()
      const open = await Promise.all(
        Array.from({ length: terminalsPerSandbox }, () => opened(port, pathOf(id), { key }))
      )
      const { status, headers, json } = await refused(port, pathOf(id), { key })
      assert.deepStrictEqual([status, json.code, headers["retry-after"]], [429, "RATE_LIMITED", "1"])
      await (await opened(port, pathOf(await newSandbox()), { key })).cut()
      await open[0]!.cut()
      let next: TerminalClient | Refusal
      do next = await TerminalClient.open(port, pathOf(id), { key })
      while (!(next instanceof TerminalClient))
      for (const client of [...open, next]) await client.cut()

      // A client that leaves before the answer takes no slot.
      const handshake =
        `GET ${pathOf(id)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
      for (let count = 0; count < 100; count++) {
        const socket = connect(port, "127.0.0.1").on("error", () => {})
        await new Promise<void>((resolve) => socket.end(handshake, resolve))
        if (count % 2 === 0) socket.destroy()
        else socket.resume()
      }
      for (let count = 0; count < terminalsPerSandbox; ) {
        const found = await TerminalClient.open(port, pathOf(id), { key })
        if (found instanceof TerminalClient) count++
      }
      assert.strictEqual((await refused(port, pathOf(id), { key })).status, 429)
    })
  )

  it.effect.skipIf(typeof machines?.unusable === "string")(
    "keeps its Sandbox awake, and wakes a sleeping one",
    () =>
      Effect.gen(function* () {
        const sleepy = another({ ...machines?.machineSettings, ATOLL_SLEEP_AFTER_SECONDS: "1" })
        const { port, key, send, newSandbox } = Context.get(yield* Layer.build(sleepy), ServedAtoll)
        yield* Effect.promise(async () => {
          const [used, idle] = [await newSandbox(), await newSandbox()]
          const status = async (id: string) => (await send("GET", `/api/v2/sandboxes/${id}`)).json.sandbox.status
          const client = await opened(port, pathOf(used), { key })
          while ((await status(idle)) !== "sleeping") await sleep(20)
          assert.strictEqual(await status(used), "running")
          const woken = await opened(port, pathOf(idle), { key })
          woken.type("awake")
          await woken.shows("awake")
          assert.strictEqual(await status(used), "running")
          await client.cut()
          while ((await status(used)) !== "sleeping") await sleep(20)
          assert.strictEqual(await status(idle), "running")
          await woken.cut()
        })
      }).pipe(Effect.scoped),
    machines?.TIMEOUT_MS
  )

  it.effect("ends with its key, its session, its account and its Sandbox, and gives the reason", () =>
    withAtoll(async (atoll, run) => {
      const { port, key, send, newKey, newSandbox } = atoll
      const id = await newSandbox()
      const own = (await newKey(["sandbox:execute", "sandbox:read"])).secret
      const ofKey = await opened(port, pathOf(id), { key: own })
      assert.strictEqual((await send("DELETE", "/api/v2/auth", { key: own })).status, 204)
      const over = { code: 1008, reason: "The key or session has ended, or the account is suspended." }
      assert.deepStrictEqual(await ofKey.closing(), over)

      const { browser, ticket } = await signedIn(atoll)
      const ofSession = await opened(port, pathOf(id), { protocols: ["atoll.terminal", await ticket()] })
      assert.strictEqual((await browser.console("POST", "/sign-out", {})).status, 204)
      assert.deepStrictEqual(await ofSession.closing(), over)

      const theirs = (await newKey(scopes, "suspended")).secret
      const ofAccount = await opened(port, pathOf(await newSandbox(theirs)), { key: theirs })
      await run(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`update accounts set suspended_at = ${BigInt(Date.now())} where name = 'suspended'`
        })
      )
      // Its Sandbox is stopped as well.
      assert.include([over.code, 1011], (await ofAccount.closing()).code)

      const ofSandbox = await opened(port, pathOf(id), { key })
      await send("POST", `/api/v2/sandboxes/${id}/stop`)
      assert.strictEqual((await ofSandbox.closing()).code, 1011)
      assert.isNotEmpty(ofSandbox.closed!.reason)
      assert.deepStrictEqual(ofSandbox.told, [])
    })
  )

  it.effect("is closed with a code and a sentence for a frame that it does not accept", () =>
    withAtoll(async ({ port, key, newSandbox }) => {
      const id = await newSandbox()
      const after = async (send: (socket: WebSocket) => void) => {
        const client = await opened(port, pathOf(id), { key })
        send(client.socket)
        return client.closing()
      }
      const largest = await opened(port, pathOf(id), { key })
      largest.socket.send(Buffer.alloc(terminalInputMaxBytes, "x"))
      await largest.until(() => largest.outputBytes >= terminalInputMaxBytes)
      await largest.cut()
      const tooLarge = await after((socket) => socket.send(Buffer.alloc(terminalInputMaxBytes + 1)))
      assert.deepStrictEqual(tooLarge, {
        code: 1009,
        reason: `A frame may have at most ${terminalInputMaxBytes} bytes.`
      })
      const notUtf8 = await after((socket) => socket.send(Buffer.from([0xff]), { binary: false }))
      assert.deepStrictEqual(notUtf8, { code: 1007, reason: "A text frame must be UTF-8." })
      const unmasked = await after((socket) =>
        (socket as unknown as { readonly _socket: Socket })._socket.write(Buffer.from([0x82, 0x01, 0x41]))
      )
      assert.deepStrictEqual(unmasked, { code: 1002, reason: "The WebSocket frame was malformed." })
      const controls: ReadonlyArray<unknown> = [
        "",
        "nonsense",
        "null",
        "[]",
        "[".repeat(200),
        `{"type":"resize","columns":80,"rows":24,"a":"${"x".repeat(300)}"}`,
        { type: "exit" },
        { type: "__proto__" },
        { type: "resize" },
        { type: "resize", columns: 0, rows: 24 },
        { type: "resize", columns: 80.5, rows: 24 },
        { type: "resize", columns: "80", rows: 24 },
        { type: "resize", columns: 1001, rows: 24 },
        { type: "resize", columns: 2 ** 53, rows: 24 },
        { type: "resize", columns: 80, rows: 24, more: 1 }
      ]
      for (const control of controls) {
        const { code, reason } = await after((socket) =>
          socket.send(typeof control === "string" ? control : JSON.stringify(control))
        )
        assert.strictEqual(code, 1008, JSON.stringify(control))
        assert.match(reason, /^Text must be \{"type":"resize","columns":1-1000,"rows":1-1000\}/)
      }
    })
  )

  it.effect("stands still between pause and resume, and takes a flood of control frames", () =>
    withAtoll(async ({ port, key, newSandbox }) => {
      const client = await opened(port, pathOf(await newSandbox()), { key })
      client.tell({ type: "pause" })
      client.type("one")
      for (let size = 1; size <= 1000; size++) client.tell({ type: "resize", columns: size, rows: size })
      client.tell({ type: "pause" })
      // Output in flight would arrive before its answer.
      client.socket.ping()
      await new Promise((resolve) => client.socket.once("pong", resolve))
      assert.notInclude(client.output, "one")
      client.tell({ type: "resume" })
      await client.shows("one")
      await client.cut()
    })
  )

  it.effect("of an agent that was taken over is refused or closed; another tenant's goes on beside it", () =>
    withAtoll(async ({ port, key, newKey, newSandbox }, _, { ids, agent }) => {
      const id = await newSandbox()
      const other = (await newKey(scopes, "honest")).secret
      const honest = await opened(port, pathOf(await newSandbox(other)), { key: other })
      ids.add(id)
      const frames = (...body: NonNullable<Script["body"]>): Script => ({ as: "http", status: 200, body })
      const output = (offset: number, text: string) =>
        bytes(Buffer.concat([frameHead(FrameType.stdout, offset, text.length), Buffer.from(text)]))
      const lies: ReadonlyArray<readonly [name: string, Script]> = [
        ["garbage", { as: "garbage" }],
        ["silence", { as: "silence" }],
        ["no head", { as: "http", status: 200, after: 600_000 }],
        ["a refusal that is none", { as: "http", status: 409, body: [bytes('{"code":"NO","message":"\\ud800"}')] }],
        ["no frames", frames(bytes("x".repeat(64)))],
        ["a hole", frames(output(0, "a"), output(7, "b"))],
        ["the end of numbers", frames(output(OUTPUT_END_MAX - 1, "ab"))],
        ["empty frames without end", frames(bytes(frameHead(FrameType.stdout, 0, 0), "forever"))],
        ["an exit beyond int4", frames(bytes(exitedFrame({ exitCode: 2 ** 53 - 1 })), bytes(settledFrame))],
        ["no exit", frames(output(0, "a"))],
        ["a cut", { ...frames(output(0, "a")), afterwards: "destroy" }]
      ]
      const closed: Array<string> = []
      for (const [name, script] of lies) {
        // The agent decides at the start of a connection how it treats it.
        agent.session.close()
        await agent.play(script)
        const found = await TerminalClient.open(port, pathOf(id), { key })
        if (found instanceof TerminalClient) {
          assert.deepStrictEqual(
            await found.closing(),
            { code: 1011, reason: "The Sandbox stopped, or the connection into it broke." },
            name
          )
          assert.deepStrictEqual(found.told, [], name)
          closed.push(name)
        } else {
          assert.deepStrictEqual([found.status, found.json.code], [502, "SANDBOX_UNAVAILABLE"], name)
        }
        const word = randomUUID()
        honest.type(word)
        await honest.shows(word)
      }
      // A connection may be cut before its head has arrived.
      assert.includeMembers(
        closed,
        lies.slice(4, -1).map(([name]) => name)
      )
      await honest.cut()
    })
  )

  it.effect("is closed with the reason when the service stops, which waits for none", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(another(), scope)
      const { port, key, newSandbox } = Context.get(context, ServedAtoll)
      const client = yield* Effect.promise(async () => opened(port, pathOf(await newSandbox()), { key }))
      const began = performance.now()
      yield* Scope.close(scope, Exit.void)
      assert.isBelow(performance.now() - began, 25_000)
      assert.deepStrictEqual(yield* Effect.promise(() => client.closing()), {
        code: 1001,
        reason: "The service is stopping. Open another terminal in a moment."
      })
    })
  )
})
