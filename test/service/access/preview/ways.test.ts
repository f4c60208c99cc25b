/**
 * Previews, SSH access and service access: opened, used, closed, expired, stopped, deleted and crashed in any order.
 * What must be unreachable is unreachable, what must be reachable is reachable, and nothing is left behind.
 * A failure prints its seed and path; `fc.assert(…, { seed, path })` replays it.
 */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import type { Socket } from "node:net"
import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Exit, Layer, ManagedRuntime, Result, Scope } from "effect"
import { SqlClient } from "effect/sql"
import fc from "fast-check"
import { WebSocket } from "ws"
import { LiveConnections } from "../../../../src/access/gateway/LiveConnections.ts"
import { PreviewGateway } from "../../../../src/access/preview/PreviewGateway.ts"
import { Previews } from "../../../../src/access/preview/Previews.ts"
import { ServiceAccesses } from "../../../../src/access/serviceAccess/ServiceAccesses.ts"
import { ConnectionGrants } from "../../../../src/access/ssh/ConnectionGrants.ts"
import { TunnelGateway } from "../../../../src/api/http/TunnelGateway.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { Sandboxes } from "../../../../src/sandbox/Sandboxes.ts"
import { requestIdentity, runningSandboxOf, serveGateways } from "../../../support/GatewayServer.ts"
import { ShiftedClock } from "../../../support/ShiftedClock.ts"
import { testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const hourMs = 3_600_000
const grantMs = 30_000
const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHyqSKSgb9c35kiZ00TmVyjSzvGAdZ8Js21B/UTW6ZCA test"
const environment = { ATOLL_SERVICE_ACCESS: "on", ATOLL_COOPERATIVE: "on", ATOLL_SSH_PORT: "0" }

const steps = [
  "openPreview",
  "closePreview",
  "usePreview",
  "openAccess",
  "revokeAccess",
  "useAccess",
  "openGrant",
  "revokeGrant",
  "halfMinute",
  "hour",
  "stop",
  "start",
  "die",
  "crash"
] as const
type Step = (typeof steps)[number]

interface Way {
  readonly id: string
  /** Names a service access to its owner; its `id` is its capability. */
  readonly generationId?: string
  readonly expiresAt: number
  /** Ended by another cause than time. */
  ended: boolean
  readonly held: Array<Socket | WebSocket>
}

/** One Sandbox and the ingress that it should have. */
class Model {
  isRunning = true
  readonly previews: Array<Way> = []
  readonly accesses: Array<Way> = []
  readonly grants: Array<Way> = []

  endAll() {
    for (const way of [...this.previews, ...this.accesses, ...this.grants]) way.ended = true
  }
}

const services = Effect.gen(function* () {
  return {
    previews: yield* Previews,
    accesses: yield* ServiceAccesses,
    grants: yield* ConnectionGrants,
    sandboxes: yield* Sandboxes,
    connections: yield* LiveConnections,
    preview: yield* PreviewGateway,
    tunnel: yield* TunnelGateway
  }
})

layer(TestDatabase.layer, { excludeTestServices: true })("SSH access, previews and service access", (it) => {
  it.effect("are reachable exactly while they should be, after any order of events", () =>
    Effect.gen(function* () {
      const database = yield* Effect.context<Layer.Success<typeof TestDatabase.layer>>()
      const sql = yield* SqlClient.SqlClient

      const run = async (sequence: ReadonlyArray<Step>) => {
        const clock = new ShiftedClock()
        const world = await Effect.runPromise(SimulatedWorld.make)
        const begin = async () => {
          const runtime = ManagedRuntime.make(
            TunnelGateway.layer.pipe(
              Layer.provideMerge(testAtoll(world, environment)),
              Layer.provideMerge(Layer.succeedContext(database)),
              Layer.provideMerge(Layer.succeed(Clock.Clock, clock))
            )
          )
          const found = await runtime.runPromise(services)
          const scope = Effect.runSync(Scope.make())
          const port = await runtime.runPromise(serveGateways([found.preview, found.tunnel]).pipe(Scope.provide(scope)))
          const end = async () => {
            await Effect.runPromise(Scope.close(scope, Exit.void))
            await runtime.dispose()
          }
          const ask = <A, E>(effect: Effect.Effect<A, E>) => runtime.runPromise(Effect.result(effect))
          return { ...found, runtime, port, end, ask }
        }
        let life = await begin()
        const { accountId, sandboxId } = await life.runtime.runPromise(runningSandboxOf())
        const model = new Model()
        const listen = () => {
          const { listeners } = world.machines.get(sandboxId)!
          listeners.set(80, (stream) => {
            stream.once("data", () =>
              stream.write("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
            )
          })
          listeners.set(5432, (stream) => void stream.resume())
        }
        listen()
        const now = () => clock.currentTimeMillisUnsafe()
        const isLive = (way: Way) => !way.ended && now() < way.expiresAt
        const live = (ways: ReadonlyArray<Way>) => ways.filter(isLive)

        const perform = async (step: Step): Promise<void> => {
          switch (step) {
            case "openPreview": {
              const made = await life.ask(life.previews.create(accountId, sandboxId, { ...requestIdentity, port: 80 }))
              assert.strictEqual(Result.isSuccess(made), model.isRunning && live(model.previews).length === 0, step)
              if (Result.isSuccess(made)) {
                const { id, expiresAt } = made.success
                model.previews.push({ id, expiresAt: Date.parse(expiresAt), ended: false, held: [] })
              }
              return
            }
            case "closePreview": {
              const last = model.previews.at(-1)
              if (last === undefined) return
              const closed = await life.ask(life.previews.close(accountId, sandboxId, last.id, requestIdentity))
              assert.isTrue(Result.isSuccess(closed), step)
              last.ended = true
              return
            }
            case "usePreview": {
              for (const way of live(model.previews)) {
                const socket = connect(life.port, "127.0.0.1").on("error", () => {})
                socket.write(
                  `GET / HTTP/1.1\r\nHost: ${way.id}.preview.localhost\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n`
                )
                const [head] = (await once(socket, "data")) as [Buffer]
                assert.match(head.toString(), /^HTTP\/1.1 101/)
                way.held.push(socket)
              }
              return
            }
            case "openAccess": {
              const generationId = randomUUID()
              const requested_at = now()
              const request = { requested_at, ports: [5432] }
              const made = await life.ask(
                life.accesses.create(accountId, sandboxId, { ...requestIdentity, generationId, request })
              )
              assert.strictEqual(Result.isSuccess(made), model.isRunning, step)
              if (Result.isSuccess(made)) {
                const id = made.success.capability
                model.accesses.push({ id, generationId, expiresAt: requested_at + hourMs, ended: false, held: [] })
              }
              return
            }
            case "revokeAccess": {
              const [row] = await life.runtime.runPromise(
                sql<{ readonly id: string }>`
                    select snapshot -> 'context' ->> 'generationId' as id from actors
                    where kind = 'serviceAccess' and sandbox_id = ${sandboxId} and status = 'active' limit 1`.pipe(
                  Effect.orDie
                )
              )
              if (row === undefined) return
              const revoked = await life.ask(life.accesses.revoke(accountId, sandboxId, row.id, requestIdentity))
              assert.isTrue(Result.isSuccess(revoked), step)
              model.accesses.find(({ generationId }) => generationId === row.id)!.ended = true
              return
            }
            case "useAccess": {
              for (const way of live(model.accesses)) {
                const socket = new WebSocket(`ws://127.0.0.1:${life.port}/api/v2/tunnel?port=5432&client=same`, {
                  headers: { authorization: `Bearer ${way.id}` }
                }).on("error", () => {})
                await once(socket, "open")
                way.held.push(socket)
              }
              return
            }
            case "openGrant": {
              const made = await life.ask(
                life.grants.grant(accountId, sandboxId, { ...requestIdentity, publicKeys: [key] })
              )
              assert.strictEqual(Result.isSuccess(made), model.isRunning, step)
              if (Result.isSuccess(made)) {
                const { endpointId, expiresAt } = made.success
                model.grants.push({ id: endpointId, expiresAt: Date.parse(expiresAt), ended: false, held: [] })
              }
              return
            }
            case "revokeGrant": {
              const last = model.grants.at(-1)
              if (last === undefined) return
              await life.ask(life.grants.revoke(accountId, sandboxId, last.id, requestIdentity))
              last.ended = true
              return
            }
            case "halfMinute":
              clock.shiftMs += grantMs
              return
            case "hour":
              clock.shiftMs += hourMs
              return
            case "stop":
              await life.ask(life.sandboxes.stop(accountId, sandboxId, requestIdentity))
              model.isRunning = false
              model.endAll()
              return
            case "start":
              await life.ask(life.sandboxes.start(accountId, sandboxId, { ...requestIdentity, idempotencyKey: null }))
              model.isRunning = true
              listen()
              return
            case "die": {
              if (!model.isRunning) return
              world.crash(sandboxId)
              for (;;) {
                const seen = await life.ask(life.sandboxes.get(accountId, sandboxId))
                if (Result.isSuccess(seen) && seen.success.status === "stopped") break
              }
              model.isRunning = false
              model.endAll()
              return
            }
            case "crash": {
              await life.end()
              for (const way of [...model.previews, ...model.accesses]) way.held.length = 0
              life = await begin()
              return
            }
          }
        }

        const isOpen = (socket: Socket | WebSocket) =>
          socket instanceof WebSocket ? socket.readyState === WebSocket.OPEN : !socket.destroyed
        /** A Sandbox that ends notifies its dependents when it answers: within a second each of them has the event. */
        const soon = async (look: () => Promise<boolean>, expected: boolean, message: string) => {
          const until = Date.now() + 1000
          let seen = await look()
          while (seen !== expected && Date.now() < until) {
            // An answer from memory takes no turn of the event loop, in which the notification could arrive.
            await new Promise(setImmediate)
            seen = await look()
          }
          assert.strictEqual(seen, expected, message)
        }
        const found = async <A>(effect: Effect.Effect<A, unknown>) => {
          const result = await life.ask(effect)
          return Result.isSuccess(result) && result.success !== null
        }
        const check = async (step: Step) => {
          for (const way of model.previews) {
            await soon(() => found(life.previews.find(way.id)), isLive(way), `preview after ${step}`)
          }
          for (const way of model.accesses) {
            const admit = Effect.flatMap(life.accesses.recognise(way.id), (claims) =>
              life.accesses.admit(claims, 5432, "same")
            )
            const admitted = () => found(admit)
            await soon(admitted, isLive(way), `access after ${step}`)
          }
          for (const way of model.grants) {
            const blob = Buffer.from(key.split(" ")[1]!, "base64")
            await soon(() => found(life.grants.keyFor(way.id, blob)), isLive(way), `grant after ${step}`)
          }
          // A dead connection is cut within a second; a live one goes on.
          const ways = [...model.previews, ...model.accesses]
          const expected = ways.filter(isLive).flatMap(({ held }) => held).length
          const until = Date.now() + 1000
          while (life.connections.count() !== expected && Date.now() < until) await new Promise(setImmediate)
          assert.strictEqual(life.connections.count(), expected, `connections after ${step}`)
          const inside = world.machines.get(sandboxId)?.tunnels.size ?? 0
          assert.strictEqual(inside, expected, `tunnels inside after ${step}`)
          for (const way of ways) {
            for (const socket of way.held) {
              while (isOpen(socket) !== isLive(way) && Date.now() < until) await new Promise(setImmediate)
              assert.strictEqual(isOpen(socket), isLive(way), `socket after ${step}`)
            }
          }
        }

        try {
          for (const step of sequence) {
            await perform(step)
            await check(step)
          }
          await life.ask(life.sandboxes.remove(accountId, sandboxId, requestIdentity))
          model.endAll()
          await check("stop")
          const waiting = sql`
              select id, status, pending from actors where sandbox_id = ${sandboxId} and kind <> 'sandbox'
                and (pending <> '[]'::jsonb or due_at is not null)`.pipe(Effect.orDie)
          const until = Date.now() + 2000
          let left = await life.runtime.runPromise(waiting)
          while (left.length > 0 && Date.now() < until) left = await life.runtime.runPromise(waiting)
          assert.deepStrictEqual(left, [])
        } finally {
          await life.end()
        }
      }

      yield* Effect.promise(() =>
        fc.assert(fc.asyncProperty(fc.array(fc.constantFrom(...steps), { minLength: 4, maxLength: 14 }), run), {
          numRuns: Number(process.env["ATOLL_TEST_RUNS"] ?? 25),
          endOnFailure: false,
          ...(process.env["ATOLL_TEST_SEED"] ? { seed: Number(process.env["ATOLL_TEST_SEED"]) } : {})
        })
      )
    })
  )
})
