/** TCP service access over real sockets, into programs that listen inside simulated Sandboxes. */
import { createHash, randomBytes, randomUUID } from "node:crypto"
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { WebSocket } from "ws"
import { LiveConnections } from "../../../../src/access/gateway/LiveConnections.ts"
import { Capability, type Claims } from "../../../../src/access/serviceAccess/Capability.ts"
import { ServiceAccesses } from "../../../../src/access/serviceAccess/ServiceAccesses.ts"
import { tunnelServer } from "../../../../src/access/serviceAccess/tunnelClient.ts"
import { Audit } from "../../../../src/account/Audit.ts"
import { TunnelGateway } from "../../../../src/api/http/TunnelGateway.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import sealings from "../../../../src/store/migrations/0021_sealings.ts"
import { requestIdentity, runningSandboxOf, serveGateways } from "../../../support/GatewayServer.ts"
import { testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const on = { ATOLL_SERVICE_ACCESS: "on" }

const service = (world: SimulatedWorld, environment: Readonly<Record<string, string>> = on) =>
  TunnelGateway.layer.pipe(Layer.provideMerge(testAtoll(world, environment)))

/** A service access to port 5432 of a new Sandbox; `inside` gets each connection. */
const withAccess = <A, E, R>(
  inside: (stream: Duplex) => void,
  use: (at: {
    readonly port: number
    readonly capability: string
    readonly generationId: string
    readonly accountId: string
    readonly sandboxId: string
    readonly world: SimulatedWorld
  }) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const world = yield* SimulatedWorld.make
    return yield* Effect.gen(function* () {
      const port = yield* serveGateways([yield* TunnelGateway])
      const { accountId, sandboxId } = yield* runningSandboxOf()
      world.machines.get(sandboxId)!.listeners.set(5432, inside)
      const accesses = yield* ServiceAccesses
      const generationId = randomUUID()
      const { capability } = yield* accesses.create(accountId, sandboxId, {
        ...requestIdentity,
        generationId,
        request: { requested_at: Date.now(), ports: [5432, 6379] }
      })
      return yield* use({ port, capability, generationId, accountId, sandboxId, world })
    }).pipe(Effect.scoped, Effect.provide(service(world)))
  })

const open = (port: number, capability: string, query: string): Promise<WebSocket | IncomingMessage> =>
  new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/api/v2/tunnel?${query}`, ["atoll.tunnel", capability])
    socket.on("error", () => {})
    socket.once("open", () => resolve(socket))
    socket.once("unexpected-response", (_, answer) => resolve(answer))
  })

const opened = (port: number, capability: string, query: string) =>
  Effect.promise(async () => {
    const socket = await open(port, capability, query)
    assert.instanceOf(socket, WebSocket)
    return socket as WebSocket
  })

const refusal = (port: number, capability: string, query: string) =>
  Effect.promise(async () => {
    const answer = (await open(port, capability, query)) as IncomingMessage
    let body = ""
    for await (const chunk of answer) body += chunk
    return [answer.statusCode, JSON.parse(body).code]
  })

/** The command line's client on a free local port. */
const localPort = (port: number, capability: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<ReturnType<typeof tunnelServer>>((resume) => {
        const server = tunnelServer({
          url: `http://127.0.0.1:${port}`,
          capability,
          port: 5432,
          client: "cli",
          onRefused: () => {}
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.sync(() => void server.close())
    ),
    (server) => (server.address() as AddressInfo).port
  )

const readAll = async (socket: Socket): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

layer(TestDatabase.layer, { excludeTestServices: true })("TCP service access", (it) => {
  it.effect("a create answers one envelope per key and 400 for another body; a look-up finds live ones", () =>
    withAccess(
      () => {},
      ({ capability, generationId, accountId, sandboxId }) =>
        Effect.gen(function* () {
          const accesses = yield* ServiceAccesses
          const sql = yield* SqlClient.SqlClient
          const requested = yield* sql<{ readonly at: string }>`
            select snapshot -> 'context' ->> 'requestedAt' as at from actors
            where kind = 'serviceAccess' and sandbox_id = ${sandboxId}`
          const same = { requested_at: Number(requested[0]!.at), ports: [5432, 6379] }
          const asked = { ...requestIdentity, generationId: generationId.toUpperCase(), request: same }
          assert.deepStrictEqual(yield* accesses.create(accountId, sandboxId, asked), { capability })
          assert.deepStrictEqual(yield* accesses.lookUp(accountId, sandboxId, asked), { capability })
          const other = { ...asked, request: { ...same, ports: [5432] } }
          assert.strictEqual((yield* Effect.flip(accesses.create(accountId, sandboxId, other)))._tag, "INVALID_REQUEST")
          const late = {
            ...asked,
            generationId: randomUUID(),
            request: { ...same, requested_at: Date.now() - 61_000 }
          }
          assert.strictEqual((yield* Effect.flip(accesses.create(accountId, sandboxId, late)))._tag, "INVALID_REQUEST")
          const foreign = yield* Effect.flip(accesses.create("acc_other", sandboxId, asked))
          assert.strictEqual(foreign._tag, "NOT_FOUND")
          const revoked = yield* accesses.revoke(accountId, sandboxId, generationId, requestIdentity)
          assert.deepStrictEqual(revoked, { generationId, cleanup: "confirmed" })
          assert.deepStrictEqual(yield* accesses.revoke(accountId, sandboxId, generationId, requestIdentity), revoked)
          assert.strictEqual((yield* Effect.flip(accesses.lookUp(accountId, sandboxId, asked)))._tag, "NOT_FOUND")
          // The service does not hand out a dead capability.
          assert.strictEqual((yield* Effect.flip(accesses.create(accountId, sandboxId, asked)))._tag, "NOT_FOUND")
        })
    )
  )

  it.effect("leaves one audit event for each tunnel of a recognised capability, opened or refused", () =>
    withAccess(
      (stream) => void stream.pipe(stream),
      ({ port, capability, generationId, accountId, sandboxId }) =>
        Effect.gen(function* () {
          const audit = yield* Audit
          const accesses = yield* ServiceAccesses
          const socket = yield* opened(port, capability, "port=5432&client=a")
          yield* refusal(port, capability, "port=6379&client=a")
          yield* refusal(port, capability, "port=80")
          yield* refusal(port, capability, "port=0")
          yield* refusal(port, "nonsense", "port=5432")
          socket.terminate()
          // A WebSocket of an unknown version, and a request that is not a handshake.
          const asked = (headers: Record<string, string>) =>
            Effect.promise(
              () =>
                new Promise<number>((resolve) => {
                  const sent = request({
                    port,
                    host: "127.0.0.1",
                    path: "/api/v2/tunnel?port=5432&client=a",
                    headers: { authorization: `Bearer ${capability}`, ...headers }
                  })
                  sent.on("response", (answer) => {
                    answer.resume()
                    resolve(answer.statusCode!)
                  })
                  sent.end()
                })
            )
          const upgrade = {
            connection: "Upgrade",
            upgrade: "websocket",
            "sec-websocket-key": "x",
            "x-request-id": "bad"
          }
          assert.strictEqual(yield* asked(upgrade), 400)
          assert.strictEqual(yield* asked({}), 400)
          yield* accesses.revoke(accountId, sandboxId, generationId, requestIdentity)
          yield* refusal(port, capability, "port=5432")
          yield* audit.write
          const all = { from: null, to: null, action: null, sandboxId }
          const events = (yield* audit.list(accountId, all, { limit: 100, before: null })).toReversed()
          assert.deepStrictEqual(
            events.map(({ status, errorCode, targetId }) => [status, errorCode, targetId]),
            [
              [101, null, generationId],
              [502, "SANDBOX_UNAVAILABLE", generationId],
              [404, "NOT_FOUND", null],
              [400, "INVALID_REQUEST", generationId],
              [401, "UNAUTHENTICATED", null]
            ]
          )
          for (const event of events) {
            assert.deepInclude(event, {
              action: "openTunnel",
              method: "GET",
              path: "/api/v2/tunnel",
              targetType: "serviceAccess",
              apiKeyId: null,
              sourceIp: "127.0.0.1"
            })
            assert.notInclude(JSON.stringify(event), capability.slice(-20))
          }
          assert.strictEqual(events[3]!.requestId, "bad")
          assert.strictEqual(new Set(events.map(({ requestId }) => requestId)).size, 5)
        })
    )
  )

  it.effect("stores neither a capability nor a key that opens one", () =>
    withAccess(
      (stream) => void stream.pipe(stream),
      ({ port, capability, sandboxId }) =>
        Effect.gen(function* () {
          const socket = yield* opened(port, capability, "port=5432")
          const sql = yield* SqlClient.SqlClient
          const stored = yield* sql<{ readonly row: string }>`
            select to_jsonb(a)::text as row from actors a where sandbox_id = ${sandboxId}
            union all
            select to_jsonb(t)::text from transitions t where actor_id in (select id from actors where sandbox_id = ${sandboxId})
            union all
            select to_jsonb(k)::text from idempotency_keys k where target_id in (select id from actors where sandbox_id = ${sandboxId})`
          assert.isAbove(stored.length, 3)
          const [, , , sealed, tag] = capability.split(".") as [string, string, string, string, string]
          for (const { row } of stored) {
            assert.notInclude(row, sealed)
            assert.notInclude(row, tag)
          }
          socket.terminate()
        })
    )
  )

  it.effect("keeps what it needs to reseal a capability that an earlier Atoll stored", () =>
    withAccess(
      () => {},
      ({ capability, sandboxId }) =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const payload = sql`select payload from actors where kind = 'serviceAccess' and sandbox_id = ${sandboxId}`
          const now = yield* payload
          yield* sql`
            update actors set payload = jsonb_build_object('capability', ${capability}::text)
            where kind = 'serviceAccess' and sandbox_id = ${sandboxId}`
          yield* sealings
          assert.deepStrictEqual(yield* payload, now)
        })
    )
  )

  it.effect("refuses an expired capability even before its access has got the deadline", () =>
    withAccess(
      () => {},
      ({ capability: live, sandboxId }) =>
        Effect.gen(function* () {
          const accesses = yield* ServiceAccesses
          const capabilities = yield* Capability
          const claims = (yield* capabilities.open(live))!
          const sealing = yield* capabilities.newSealing
          const over = yield* capabilities.seal({ ...claims, expiresAt: Date.now() - 1 }, sealing)
          assert.strictEqual((yield* Effect.flip(accesses.recognise(over)))._tag, "UNAUTHENTICATED")
          const recognised = yield* accesses.recognise(live)
          assert.deepInclude(yield* accesses.admit(recognised, 5432, "c"), { sandboxId, port: 5432 })
        }).pipe(Effect.provide(Capability.layer))
    )
  )

  it.effect("carries bytes unchanged both ways, half-closed connections included", () =>
    withAccess(
      (stream) => void stream.pipe(stream),
      ({ port, capability }) =>
        Effect.gen(function* () {
          const local = yield* localPort(port, capability)
          const bytes = randomBytes(8 * 1024 ** 2)
          const digest = (it: Buffer) => createHash("sha256").update(it).digest("hex")
          const echoes = yield* Effect.forEach(
            [1, 2, 3],
            () =>
              Effect.promise(async () => {
                const socket = connect({ port: local, host: "127.0.0.1", allowHalfOpen: true })
                socket.end(bytes)
                return digest(await readAll(socket))
              }),
            { concurrency: 3 }
          )
          assert.deepStrictEqual(echoes, Array(3).fill(digest(bytes)))
        })
    )
  )

  it.effect("serves a WebSocket client that knows no subprotocol: bytes, and a close at the end", () =>
    withAccess(
      (stream) => void stream.once("data", (line) => stream.end(`you said ${line}`)),
      ({ port, capability }) =>
        Effect.promise(async () => {
          const socket = new WebSocket(`ws://127.0.0.1:${port}/api/v2/tunnel?port=5432`, {
            headers: { authorization: `bearer ${capability}` }
          })
          const messages: Array<string> = []
          socket.on("message", (data) => messages.push(String(data)))
          await once(socket, "open")
          socket.send("hello")
          const [code] = await once(socket, "close")
          assert.deepStrictEqual([messages, code], [["you said hello"], 1000])
        })
    )
  )

  it.effect("refuses with the contract's errors before the handshake", () =>
    withAccess(
      () => {},
      ({ port, capability, generationId, accountId, sandboxId }) =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* refusal(port, capability, "port=0"), [400, "INVALID_REQUEST"])
          assert.deepStrictEqual(yield* refusal(port, capability, "port=22"), [404, "NOT_FOUND"])
          assert.deepStrictEqual(yield* refusal(port, capability, "port=6379"), [502, "SANDBOX_UNAVAILABLE"])
          assert.deepStrictEqual(yield* refusal(port, "eyJ.x.y", "port=5432"), [401, "UNAUTHENTICATED"])
          // The tag's first character: not every bit of its last character belongs to the tag.
          const changed = capability.replace(/[^.](?=[^.]*$)/, (one) => (one === "A" ? "B" : "A"))
          assert.deepStrictEqual(yield* refusal(port, changed, "port=5432"), [401, "UNAUTHENTICATED"])
          const accesses = yield* ServiceAccesses
          yield* accesses.revoke(accountId, sandboxId, generationId, requestIdentity)
          assert.deepStrictEqual(yield* refusal(port, capability, "port=5432"), [401, "UNAUTHENTICATED"])
        })
    )
  )

  it.effect("answers an invalid handshake with the Error body", () =>
    withAccess(
      () => {},
      ({ port, capability }) =>
        Effect.promise(async () => {
          const ask = async (method: string, headers: Readonly<Record<string, string>>) => {
            const sent = request({
              host: "127.0.0.1",
              port,
              method,
              path: "/api/v2/tunnel?port=5432",
              headers: {
                authorization: `Bearer ${capability}`,
                connection: "Upgrade",
                upgrade: "websocket",
                "sec-websocket-version": "13",
                "sec-websocket-key": randomBytes(16).toString("base64"),
                ...headers
              }
            }).end()
            const [answer] = (await once(sent, "response")) as [IncomingMessage]
            let body = ""
            for await (const chunk of answer) body += chunk
            const { allow, "www-authenticate": scheme } = answer.headers
            return [answer.statusCode, JSON.parse(body).code, ...[allow, scheme].filter(Boolean)]
          }
          assert.deepStrictEqual(await ask("GET", { "sec-websocket-key": "x" }), [400, "INVALID_REQUEST"])
          assert.deepStrictEqual(await ask("GET", { "sec-websocket-version": "12" }), [400, "INVALID_REQUEST"])
          assert.deepStrictEqual(await ask("GET", { upgrade: "other" }), [400, "INVALID_REQUEST"])
          assert.deepStrictEqual(await ask("POST", {}), [405, "METHOD_NOT_ALLOWED", "GET"])
          assert.deepStrictEqual(await ask("GET", { authorization: "Bearer x" }), [401, "UNAUTHENTICATED", "Bearer"])
        })
    )
  )

  it.effect("tells a plain request why a handshake would be refused, else asks for one", () =>
    withAccess(
      () => {},
      ({ port, capability }) =>
        Effect.promise(async () => {
          const ask = async (method: string, authorization = `Bearer ${capability}`, query = "port=5432") => {
            const headers: Record<string, string> = authorization === "" ? {} : { authorization }
            const answer = await fetch(`http://127.0.0.1:${port}/api/v2/tunnel?${query}`, { method, headers })
            return [answer.status, ((await answer.json()) as { code: string }).code, answer.headers.get("allow")]
          }
          assert.deepStrictEqual(await ask("GET", ""), [401, "UNAUTHENTICATED", null])
          assert.deepStrictEqual(await ask("GET"), [400, "INVALID_REQUEST", null])
          assert.deepStrictEqual(await ask("GET", "Bearer capability"), [401, "UNAUTHENTICATED", null])
          assert.deepStrictEqual(await ask("GET", undefined, "port=5433"), [404, "NOT_FOUND", null])
          assert.deepStrictEqual(await ask("GET", undefined, "port=0"), [400, "INVALID_REQUEST", null])
          assert.deepStrictEqual(await ask("POST"), [405, "METHOD_NOT_ALLOWED", "GET"])
        })
    )
  )

  it.effect("retains one client: its connections live together, and a newer client cuts them", () =>
    withAccess(
      (stream) => void stream.pipe(stream),
      ({ port, capability }) =>
        Effect.gen(function* () {
          const connections = yield* LiveConnections
          const first = yield* opened(port, capability, "port=5432&client=a")
          const second = yield* opened(port, capability, "port=5432&client=a")
          assert.strictEqual(connections.count(), 2)
          const gone = Promise.all([once(first, "close"), once(second, "close")])
          const third = yield* opened(port, capability, "port=5432&client=b")
          yield* Effect.promise(() => gone)
          third.send(Buffer.from("still here"))
          const [echo] = yield* Effect.promise(() => once(third, "message"))
          assert.strictEqual(String(echo), "still here")
          assert.strictEqual(connections.count(), 1)
        })
    )
  )

  it.effect("cuts live connections at revocation and when the Sandbox ends, and leaves none inside", () =>
    withAccess(
      (stream) => void stream.pipe(stream),
      ({ port, capability, generationId, accountId, sandboxId, world }) =>
        Effect.gen(function* () {
          const socket = yield* opened(port, capability, "port=5432")
          const cut = once(socket, "close")
          const accesses = yield* ServiceAccesses
          const { cleanup } = yield* accesses.revoke(accountId, sandboxId, generationId, requestIdentity)
          yield* Effect.promise(() => cut)
          assert.strictEqual(cleanup, "confirmed")
          assert.strictEqual(world.machines.get(sandboxId)!.tunnels.size, 0)
          assert.strictEqual((yield* LiveConnections).count(), 0)
        })
    )
  )

  it.effect("frees the slot of a client that leaves before its handshake is answered", () =>
    withAccess(
      (stream) => void stream.pipe(stream),
      ({ port, capability, sandboxId, world }) =>
        Effect.gen(function* () {
          const connections = yield* LiveConnections
          const handshake = [
            "GET /api/v2/tunnel?port=5432&client=c HTTP/1.1",
            "Host: localhost",
            `Authorization: Bearer ${capability}`,
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
            "",
            ""
          ].join("\r\n")
          yield* Effect.promise(() =>
            Promise.all(
              Array.from({ length: 160 }, async (_, at) => {
                const socket = connect(port, "127.0.0.1").on("error", () => {})
                await once(socket, "connect")
                socket.write(handshake)
                // Each client leaves at another moment of its handshake.
                for (let turns = at % 20; turns > 0; turns--) await new Promise(setImmediate)
                socket.resetAndDestroy()
              })
            )
          )
          const socket = yield* opened(port, capability, "port=5432&client=c")
          yield* Effect.repeat(
            Effect.sync(() => connections.count()),
            { until: (count) => count === 1, schedule: Schedule.spaced(5) }
          ).pipe(
            Effect.timeout("10 seconds"),
            Effect.catchTag("TimeoutError", () => Effect.void)
          )
          assert.strictEqual(connections.count(), 1)
          assert.strictEqual(world.machines.get(sandboxId)!.tunnels.size, 1)
          socket.terminate()
        })
    )
  )

  it.effect("is UNSUPPORTED_BY_RUNTIME unless it is switched on", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const { accountId, sandboxId } = yield* runningSandboxOf()
        const accesses = yield* ServiceAccesses
        const refused = yield* Effect.flip(
          accesses.create(accountId, sandboxId, {
            ...requestIdentity,
            generationId: randomUUID(),
            request: { requested_at: Date.now(), ports: [1] }
          })
        )
        assert.strictEqual(refused._tag, "UNSUPPORTED_BY_RUNTIME")
      }).pipe(Effect.scoped, Effect.provide(testAtoll(world)))
    })
  )

  it.effect("opens a capability until its key is two days old, and opens none of another key", () =>
    Effect.gen(function* () {
      const claims: Claims = {
        actorId: "sva_1",
        accountId: "acc_1",
        sandboxId: "sbx_1",
        generation: 1,
        ports: [1, 2],
        expiresAt: 3_600_000
      }
      const capability = yield* Capability
      const sealing = yield* capability.newSealing
      const sealed = yield* capability.seal(claims, sealing)
      assert.strictEqual(yield* capability.seal(claims, sealing), sealed)
      assert.notStrictEqual(yield* capability.seal(claims, yield* capability.newSealing), sealed)
      assert.notInclude(Buffer.from(sealed, "base64url").toString("latin1"), "acc_1")
      assert.deepStrictEqual(yield* capability.open(sealed), claims)
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(yield* capability.open(sealed), claims)
      const [header, ...rest] = (yield* capability.seal(claims, yield* capability.newSealing)).split(".")
      assert.isNull(yield* capability.open([sealed.split(".")[0], ...rest].join(".")))
      assert.isNull(yield* capability.open([header, ...sealed.split(".").slice(1)].join(".")))
      yield* TestClock.adjust("1 day")
      assert.isNull(yield* capability.open(sealed))
    }).pipe(Effect.provide(Capability.layer), Effect.provide(TestClock.layer()))
  )
})
