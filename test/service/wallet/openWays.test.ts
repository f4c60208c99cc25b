/**
 * Open ingress to a Sandbox when its account is suspended or has no credit left. It needs no API key, so no 403 or 402
 * ends it.
 */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import ssh2 from "ssh2"
import { WebSocket } from "ws"
import { LiveConnections } from "../../../src/access/gateway/LiveConnections.ts"
import { PreviewGateway } from "../../../src/access/preview/PreviewGateway.ts"
import { Previews } from "../../../src/access/preview/Previews.ts"
import { ServiceAccesses } from "../../../src/access/serviceAccess/ServiceAccesses.ts"
import { ConnectionGrants } from "../../../src/access/ssh/ConnectionGrants.ts"
import { SshEndpoint } from "../../../src/access/ssh/SshEndpoint.ts"
import { SshGateway } from "../../../src/access/ssh/SshGateway.ts"
import { Accounts } from "../../../src/account/Accounts.ts"
import { TunnelGateway } from "../../../src/api/http/TunnelGateway.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { Ledger } from "../../../src/wallet/Ledger.ts"
import { requestIdentity, runningSandboxOf, serveGateways } from "../../support/GatewayServer.ts"
import { sshKeyPair } from "../../support/sshKeyPair.ts"
import { testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { untilStatus } from "../../support/TestSandboxes.ts"
import { testSettings } from "../../support/TestSettings.ts"
import { until } from "../../support/until.ts"

/** 64 vCPUs and 2 GiB cost 905 micro-USD a second. */
const environment = {
  ATOLL_SERVICE_ACCESS: "on",
  ATOLL_COOPERATIVE: "on",
  ATOLL_SSH_PORT: "0",
  ATOLL_SSH_HOST: "127.0.0.1",
  ATOLL_SANDBOX_VCPUS: "64",
  ATOLL_SANDBOX_MEMORY_BYTES: String(2 * 1024 ** 3),
  ATOLL_CREDIT_GRACE_SECONDS: "1",
  ATOLL_SLEEP_AFTER_SECONDS: "1"
}

const service = (world: SimulatedWorld) =>
  Layer.mergeAll(TunnelGateway.layer, SshGateway.layer, Accounts.layer).pipe(
    Layer.provideMerge(testAtoll(world, environment)),
    Layer.provide(testSettings(environment))
  )

/** Whether each connection has ended. */
interface Open {
  readonly preview: Socket
  readonly tunnel: WebSocket
  readonly ssh: { isClosed: boolean }
}

const states = ({ preview, tunnel, ssh }: Open) => [
  preview.destroyed,
  tunnel.readyState === WebSocket.CLOSED,
  ssh.isClosed
]

/** A Sandbox with one open connection of each kind. */
const openWays = Effect.fnUntraced(function* (world: SimulatedWorld) {
  const port = yield* serveGateways([yield* PreviewGateway, yield* TunnelGateway])
  const { accountId, sandboxId } = yield* runningSandboxOf()
  const { listeners } = world.machines.get(sandboxId)!
  listeners.set(80, (stream) => {
    stream.once("data", () => stream.write("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"))
  })
  listeners.set(5432, (stream) => void stream.resume())
  const { id } = yield* (yield* Previews).create(accountId, sandboxId, { ...requestIdentity, port: 80 })
  const { capability } = yield* (yield* ServiceAccesses).create(accountId, sandboxId, {
    ...requestIdentity,
    generationId: randomUUID(),
    request: { requested_at: Date.now(), ports: [5432] }
  })
  const { private: privateKey, public: publicKey } = sshKeyPair()
  const { username } = yield* (yield* ConnectionGrants).grant(accountId, sandboxId, {
    ...requestIdentity,
    publicKeys: [publicKey]
  })
  const sshPort = (yield* SshEndpoint).port()
  const openPreview = async () => {
    const socket = connect(port, "127.0.0.1").on("error", () => {})
    socket.write(`GET / HTTP/1.1\r\nHost: ${id}.preview.localhost\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n`)
    const [head] = (await once(socket, "data")) as [Buffer]
    return { socket, head: head.toString().split("\r\n")[0]! }
  }
  const openTunnel = () =>
    new WebSocket(`ws://127.0.0.1:${port}/api/v2/tunnel?port=5432`, {
      headers: { authorization: `Bearer ${capability}` }
    }).on("error", () => {})
  const open = Effect.promise(async (): Promise<Open> => {
    const preview = await openPreview()
    assert.strictEqual(preview.head, "HTTP/1.1 101 Switching")
    const tunnel = openTunnel()
    await once(tunnel, "open")
    const ssh = { isClosed: false }
    const client = new ssh2.Client().on("error", () => {})
    client.on("close", () => {
      ssh.isClosed = true
    })
    client.connect({ host: "127.0.0.1", port: sshPort, username, privateKey })
    await once(client, "ready")
    return { preview: preview.socket, tunnel, ssh }
  })
  return { accountId, sandboxId, open, openPreview, openTunnel }
})

/** Cut, and none of them can be opened again. */
const allOver = Effect.fnUntraced(function* (open: Open, sandboxId: string) {
  const sql = yield* SqlClient.SqlClient
  const connections = yield* LiveConnections
  yield* until(
    Effect.sync(() => states(open).every((isOver) => isOver)),
    Boolean
  )
  yield* until(
    Effect.sync(() => connections.count(sandboxId) === 0),
    Boolean
  )
  const ways = sql<{ readonly kind: string; readonly status: string }>`
    select kind, status from actors where sandbox_id = ${sandboxId} and kind in ('preview', 'serviceAccess', 'connectionGrant')`
  const lasting = ["opening", "active"]
  yield* Effect.repeat(Effect.delay(ways, 5), {
    until: (found) => found.length === 3 && found.every(({ status }) => !lasting.includes(status))
  }).pipe(Effect.timeout("10 seconds"))
})

layer(TestDatabase.layer, { excludeTestServices: true })("open ingress to a Sandbox", (it) => {
  it.effect("ends with the suspension of its account, and stays closed afterwards", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const accounts = yield* Accounts
        const { accountId, sandboxId, open, openPreview } = yield* openWays(world)
        const held = yield* open
        assert.deepStrictEqual(states(held), [false, false, false])
        yield* accounts.suspend(accountId)
        yield* allOver(held, sandboxId)
        const stopped = yield* untilStatus(accountId, sandboxId, "stopped")
        assert.strictEqual(stopped.statusReason?.code, "ACCOUNT_SUSPENDED")
        const again = yield* Effect.promise(openPreview)
        assert.match(again.head, /^HTTP\/1.1 404/)
        again.socket.destroy()
      }).pipe(Effect.scoped, Effect.provide(service(world)))
    })
  )

  it.effect("goes on through the grace time after the credit's end, and ends with it", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ledger = yield* Ledger
        const { accountId, sandboxId, open } = yield* openWays(world)
        const held = yield* open
        yield* sql`update accounts set billing = 'prepaid' where id = ${accountId}`
        const { burnMicroUsdPerHour, balanceMicroUsd } = yield* ledger.settle(accountId)
        assert.isTrue(burnMicroUsdPerHour > 0n)
        // For half a second, and the usage before.
        const microUsd = 450n - balanceMicroUsd
        yield* ledger.grant({ accountId, kind: "purchase", microUsd, expiresAt: null, description: "test" })
        const status = Effect.map(ledger.reckon(accountId), (reckoning) => reckoning.status)
        yield* Effect.repeat(Effect.delay(status, 5), { until: (now) => now === "exhausted" })
        assert.deepStrictEqual(states(held), [false, false, false])
        yield* allOver(held, sandboxId)
        const { exhaustedAt, at } = yield* ledger.reckon(accountId)
        assert.isAtLeast(at - exhaustedAt!, 1000)
        const stopped = yield* untilStatus(accountId, sandboxId, "stopped")
        assert.strictEqual(stopped.statusReason?.code, "CREDIT_EXHAUSTED")
      }).pipe(Effect.scoped, Effect.provide(service(world)))
    })
  )

  it.effect("wakes no sleeping Sandbox of an account that has no credit left", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const sandboxes = yield* Sandboxes
        const { accountId, sandboxId, openPreview, openTunnel } = yield* openWays(world)
        yield* untilStatus(accountId, sandboxId, "sleeping")
        yield* until(
          Effect.sync(() => world.machines.get(sandboxId)?.state === "suspended"),
          Boolean
        )
        // Overrides the plan that the account's wallet makes when it learns of the sleep.
        yield* sql`
          create function exhaust() returns trigger language plpgsql as $$
          begin new.exhausted_at := 0; return new; end $$`
        yield* sql`create trigger exhaust before update on accounts for each row execute function exhaust()`
        yield* sql`update accounts set exhausted_at = 0 where id = ${accountId}`
        const refused = yield* Effect.promise(openPreview)
        assert.match(refused.head, /^HTTP\/1.1 50[23]/)
        refused.socket.destroy()
        const tunnel = openTunnel()
        yield* Effect.promise(() => once(tunnel, "unexpected-response"))
        tunnel.terminate()
        assert.strictEqual((yield* sandboxes.get(accountId, sandboxId)).status, "sleeping")
        yield* sql`drop trigger exhaust on accounts`
        yield* sql`update accounts set exhausted_at = null where id = ${accountId}`
        const woken = yield* Effect.promise(openPreview)
        assert.match(woken.head, /^HTTP\/1.1 101/)
        woken.socket.destroy()
      }).pipe(Effect.scoped, Effect.provide(service(world)))
    })
  )
})
