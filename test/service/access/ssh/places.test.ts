/** How many channels an SSH connection may have: into simulated Sandboxes, with ssh2's own client. */
import { once } from "node:events"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import ssh2, { type Client, type ClientChannel } from "ssh2"
import { LiveConnections } from "../../../../src/access/gateway/LiveConnections.ts"
import { ConnectionGrants } from "../../../../src/access/ssh/ConnectionGrants.ts"
import { SshEndpoint } from "../../../../src/access/ssh/SshEndpoint.ts"
import { SshGateway } from "../../../../src/access/ssh/SshGateway.ts"
import { Audit } from "../../../../src/account/Audit.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { Terminals } from "../../../../src/operation/terminal/Terminals.ts"
import { Sandboxes } from "../../../../src/sandbox/Sandboxes.ts"
import { requestIdentity, runningSandboxOf } from "../../../support/GatewayServer.ts"
import { sshKeyPair } from "../../../support/sshKeyPair.ts"
import { testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testSettings } from "../../../support/TestSettings.ts"

const service = (world: SimulatedWorld, environment: Readonly<Record<string, string>>) => {
  const settings = { ATOLL_COOPERATIVE: "on", ATOLL_SSH_PORT: "0", ATOLL_SSH_HOST: "127.0.0.1", ...environment }
  return SshGateway.layer.pipe(Layer.provideMerge(testAtoll(world, settings)), Layer.provide(testSettings(settings)))
}

/** As with several processes: the service asks the database for a connection's slots when it holds none. */
const slowPlaces = Layer.effect(
  LiveConnections,
  Effect.map(LiveConnections, (own) => {
    let areAtHand = false
    const claim = Effect.delay(
      Effect.sync(() => {
        areAtHand = true
      }),
      200
    )
    return LiveConnections.of({
      ...own,
      gather: () => (areAtHand ? null : claim),
      carry: (connection, use) =>
        Effect.suspend(() => (areAtHand ? Effect.void : claim)).pipe(Effect.andThen(own.carry(connection, use)))
    })
  })
)

/** A client with access to a new Sandbox, in which every connection to port 5000 stays open. */
const connected = Effect.fnUntraced(function* (world: SimulatedWorld) {
  const { accountId, sandboxId } = yield* runningSandboxOf()
  world.machines.get(sandboxId)!.listeners.set(5000, (stream) => void stream.pipe(stream))
  const { private: privateKey, public: publicKey } = sshKeyPair()
  const grants = yield* ConnectionGrants
  const { username } = yield* grants.grant(accountId, sandboxId, { ...requestIdentity, publicKeys: [publicKey] })
  const port = (yield* SshEndpoint).port()
  const client = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new ssh2.Client()
      client.connect({ host: "127.0.0.1", port, username, privateKey })
      await once(client, "ready")
      return client
    }),
    (client) => Effect.sync(() => void client.destroy())
  )
  return { client, accountId, sandboxId, connect: { port, username, privateKey } }
})

/** Null: the service refused it. */
const forward = (client: Client) =>
  new Promise<ClientChannel | null>((resolve) =>
    client.forwardOut("127.0.0.1", 1, "localhost", 5000, (error, channel) => resolve(error ? null : channel))
  )

const shell = (client: Client) =>
  new Promise<ClientChannel | null>((resolve) =>
    client.exec("sleep 600", (error, channel) => resolve(error ? null : channel))
  )

const becomes = (expected: number, count: () => number) =>
  Effect.repeat(Effect.sync(count), { until: (now) => now === expected, schedule: Schedule.spaced(5) }).pipe(
    Effect.timeout("10 seconds"),
    Effect.ignore,
    Effect.andThen(Effect.sync(() => assert.strictEqual(count(), expected)))
  )

layer(TestDatabase.layer, { excludeTestServices: true })("the channels of an SSH connection", (it) => {
  for (const [environment, allowed] of [
    [{}, 32],
    [{ ATOLL_CONNECTIONS_PER_SANDBOX: "11" }, 10]
  ] as const) {
    it.effect(`are ${allowed} at most, however many a client asks for concurrently`, () =>
      Effect.gen(function* () {
        const world = yield* SimulatedWorld.make
        yield* Effect.gen(function* () {
          const { client, sandboxId } = yield* connected(world)
          const connections = yield* LiveConnections
          const count = () => connections.count(sandboxId)
          yield* becomes(1, count)
          const asked = yield* Effect.promise(() =>
            Promise.all(Array.from({ length: 400 }, (_, at) => (at % 40 === 0 ? shell(client) : forward(client))))
          )
          const open = asked.filter((channel) => channel !== null)
          assert.strictEqual(open.length, allowed)
          assert.strictEqual(count(), allowed + 1)
          for (const channel of open) channel.destroy()
          yield* becomes(1, count)
          assert.isNotNull(yield* Effect.promise(() => forward(client)))
          client.destroy()
          yield* becomes(0, count)
          yield* becomes(0, () => world.machines.get(sandboxId)!.tunnels.size)
        }).pipe(Effect.scoped, Effect.provide(service(world, environment)))
      })
    )
  }

  it.effect("are opened for a client that asks immediately, while the connection's slot is still pending", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const settings = { ATOLL_COOPERATIVE: "on", ATOLL_SSH_PORT: "0", ATOLL_SSH_HOST: "127.0.0.1" }
      const slow = Layer.fresh(SshGateway.layer).pipe(
        Layer.provide(slowPlaces),
        Layer.provideMerge(testAtoll(world, settings)),
        Layer.provide(testSettings(settings))
      )
      yield* Effect.gen(function* () {
        const { client } = yield* connected(world)
        assert.isNotNull(yield* Effect.promise(() => shell(client)))
      }).pipe(Effect.scoped, Effect.provide(slow))
    })
  )

  it.effect(
    "have the Sandbox's variables, as its terminals have; a variable that the client sets takes precedence",
    () =>
      Effect.gen(function* () {
        const world = yield* SimulatedWorld.make
        yield* Effect.gen(function* () {
          const { client, accountId, sandboxId } = yield* connected(world)
          const changes = { env: { GIVEN: "given", BOTH: "given", TERM: "given" } }
          yield* (yield* Sandboxes).update(accountId, sandboxId, {
            requestId: "req_test",
            request: changes,
            mayDelete: false
          })
          const { processes } = world.machines.get(sandboxId)!
          const started = (purpose: string) =>
            Effect.repeat(
              Effect.sync(() => [...processes].find(([key]) => key.startsWith(purpose))?.[1].spec.env),
              { until: (env) => env !== undefined }
            )
          client.exec("anything", { pty: true, env: { BOTH: "own" } }, () => {})
          const { SSH_CONNECTION: _, SSH_CLIENT: __, TERM: ___, ...env } = { ...(yield* started("ssh")) }
          assert.deepStrictEqual(env, { GIVEN: "given", BOTH: "own" })
          const terminals = yield* Terminals
          const { shell } = yield* terminals.enter({ accountId, sandboxId, exhaustedAt: null }, () => {})
          yield* shell({ columns: 80, rows: 24 })
          const { PROMPT_COMMAND, ...shown } = { ...(yield* started("terminal")) }
          assert.deepStrictEqual(shown, { GIVEN: "given", BOTH: "given", TERM: "xterm-256color" })
          assert.isString(PROMPT_COMMAND)
        }).pipe(Effect.scoped, Effect.provide(service(world, {})))
      })
  )

  it.effect("leave no event in the audit log; the connection leaves one, accepted or not", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const audit = yield* Audit
        const { client, accountId, sandboxId, connect } = yield* connected(world)
        assert.isNotNull(yield* Effect.promise(() => forward(client)))
        // The second slot is the channel's.
        const refused = (options: ssh2.ConnectConfig) =>
          Effect.promise(
            () =>
              new Promise<void>((resolve) => {
                const refusedClient = new ssh2.Client()
                refusedClient.on("error", () => {})
                refusedClient.once("close", () => resolve())
                refusedClient.connect({ host: "127.0.0.1", ...connect, ...options })
              })
          )
        yield* refused({ ident: "second" })
        // The owner of a connection without a credential is unknown.
        yield* refused({ privateKey: sshKeyPair().private })
        yield* audit.write
        const all = { from: null, to: null, action: null, sandboxId }
        const events = (yield* audit.list(accountId, all, { limit: 100, before: null })).toReversed()
        assert.deepStrictEqual(
          events.map(({ status, errorCode }) => [status, errorCode]),
          [
            [200, null],
            [429, "RATE_LIMITED"]
          ]
        )
        for (const event of events) {
          assert.deepInclude(event, {
            action: "openSshSession",
            method: "SSH",
            path: `/api/v2/sandboxes/${sandboxId}/cooperative-connection/${connect.username}`,
            targetType: "connectionGrant",
            targetId: connect.username,
            sourceIp: "127.0.0.1"
          })
        }
        assert.match(events[0]!.userAgent!, /^SSH-2.0-ssh2js/)
        assert.strictEqual(events[1]!.userAgent, "SSH-2.0-second")
      }).pipe(Effect.scoped, Effect.provide(service(world, { ATOLL_CONNECTIONS_PER_SANDBOX: "2" })))
    })
  )
})
