/** The instants at which SSH access, previews and service access expire, to the millisecond and across a restart. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Layer, Schedule } from "effect"
import { Previews } from "../../../../src/access/preview/Previews.ts"
import { ServiceAccesses } from "../../../../src/access/serviceAccess/ServiceAccesses.ts"
import { ConnectionGrants } from "../../../../src/access/ssh/ConnectionGrants.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { Actors } from "../../../../src/store/Actors.ts"
import { requestIdentity, runningSandboxOf } from "../../../support/GatewayServer.ts"
import { ShiftedClock } from "../../../support/ShiftedClock.ts"
import { testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const environment = { ATOLL_SERVICE_ACCESS: "on", ATOLL_COOPERATIVE: "on", ATOLL_SSH_PORT: "0" }
const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINAd2yFfdydfh6GwNlv/OnkfOvXpEYPaphwaB9Rv2HG0 test"
const start = 1_800_000_000_000

const life = (world: SimulatedWorld, clock: ShiftedClock) =>
  testAtoll(world, environment).pipe(Layer.provideMerge(Layer.succeed(Clock.Clock, clock)))

const statusIs = Effect.fnUntraced(function* (id: string, status: string) {
  const actors = yield* Actors
  yield* Effect.repeat(actors.read(id), { schedule: Schedule.spaced(5), until: (actor) => actor?.status === status })
})

const isThere = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.match(effect, { onSuccess: (found) => found !== null, onFailure: () => false })

layer(TestDatabase.layer, { excludeTestServices: true })("SSH access, previews and service access", (it) => {
  it.effect("expire at their instant and not a millisecond before, with the service restarted in between", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const clock = new ShiftedClock()
      clock.frozenAt = start
      const made = yield* Effect.gen(function* () {
        const { accountId, sandboxId } = yield* runningSandboxOf()
        const preview = yield* (yield* Previews).create(accountId, sandboxId, { ...requestIdentity, port: 80 })
        const requested_at = start - 1234
        const { capability } = yield* (yield* ServiceAccesses).create(accountId, sandboxId, {
          ...requestIdentity,
          generationId: randomUUID(),
          request: { requested_at, ports: [5432] }
        })
        const { endpointId, expiresAt } = yield* (yield* ConnectionGrants).grant(accountId, sandboxId, {
          ...requestIdentity,
          publicKeys: [publicKey]
        })
        assert.strictEqual(Date.parse(preview.expiresAt), start + 3_600_000)
        assert.strictEqual(Date.parse(expiresAt), start + 30_000)
        return { accountId, sandboxId, preview, capability, endpointId }
      }).pipe(Effect.provide(life(world, clock)))

      yield* Effect.gen(function* () {
        const previews = yield* Previews
        const accesses = yield* ServiceAccesses
        const grants = yield* ConnectionGrants
        const grant = grants.connect(made.endpointId)
        const access = Effect.flatMap(accesses.recognise(made.capability), (claims) =>
          accesses.admit(claims, 5432, "client")
        )
        const preview = previews.find(made.preview.id)

        clock.frozenAt = start + 30_000 - 1
        assert.isTrue(yield* isThere(grant))
        clock.frozenAt = start + 30_000
        assert.isFalse(yield* isThere(grant))
        yield* statusIs(made.endpointId, "elapsed")

        clock.frozenAt = start - 1234 + 3_600_000 - 1
        assert.isTrue(yield* isThere(access))
        clock.frozenAt = start - 1234 + 3_600_000
        assert.isFalse(yield* isThere(access))

        clock.frozenAt = start + 3_600_000 - 1
        assert.isTrue(yield* isThere(preview))
        clock.frozenAt = start + 3_600_000
        assert.isFalse(yield* isThere(preview))
        // The expired preview no longer counts: a new one can be made.
        const next = yield* previews.create(made.accountId, made.sandboxId, { ...requestIdentity, port: 80 })
        assert.notStrictEqual(next.id, made.preview.id)
      }).pipe(Effect.provide(life(world, clock)))
    })
  )

  it.effect("are refused after their expiry, even before a deadline has fired", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const clock = new ShiftedClock()
      clock.frozenAt = start
      yield* Effect.gen(function* () {
        const { accountId, sandboxId } = yield* runningSandboxOf()
        const grants = yield* ConnectionGrants
        const accesses = yield* ServiceAccesses
        const { endpointId } = yield* grants.grant(accountId, sandboxId, {
          ...requestIdentity,
          publicKeys: [publicKey]
        })
        const { capability } = yield* accesses.create(accountId, sandboxId, {
          ...requestIdentity,
          generationId: randomUUID(),
          request: { requested_at: start, ports: [5432] }
        })
        const looked = new ShiftedClock()
        const grant = Effect.provideService(grants.connect(endpointId), Clock.Clock, looked)
        const claims = yield* accesses.recognise(capability)
        const access = accesses.admit(claims, 5432, "client")

        looked.frozenAt = start + 30_000 - 1
        clock.frozenAt = looked.frozenAt
        assert.isTrue(yield* isThere(grant))
        clock.frozenAt = start + 30_000
        assert.isFalse(yield* isThere(grant))

        clock.frozenAt = start + 3_600_000 - 1
        assert.isTrue(yield* isThere(access))
        clock.frozenAt = start + 3_600_000
        assert.isFalse(yield* isThere(access))
      }).pipe(Effect.provide(life(world, clock)))
    })
  )

  it.effect("DELETE of a preview answers CLEANUP_PENDING while the guest does not confirm, and its name is dead", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const { accountId, sandboxId } = yield* runningSandboxOf()
        const previews = yield* Previews
        const { id } = yield* previews.create(accountId, sandboxId, { ...requestIdentity, port: 80 })
        // The Sandbox runs, and its guest does not answer.
        world.machines.get(sandboxId)!.state = "suspended"
        const pending = yield* Effect.flip(previews.close(accountId, sandboxId, id, requestIdentity))
        assert.strictEqual(pending._tag, "CLEANUP_PENDING")
        assert.isNull(yield* previews.find(id))
        world.machines.get(sandboxId)!.state = "running"
        const close = previews.close(accountId, sandboxId, id, requestIdentity)
        yield* Effect.retry(close, { times: 3 })
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )

  it.effect("concurrent creates make one preview per Sandbox", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const { accountId, sandboxId } = yield* runningSandboxOf()
        const previews = yield* Previews
        const results = yield* Effect.forEach(
          Array.from({ length: 10 }),
          () => Effect.result(previews.create(accountId, sandboxId, { ...requestIdentity, port: 80 })),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(results.filter(({ _tag }) => _tag === "Success").length, 1)
        assert.isTrue(results.every((one) => one._tag === "Success" || one.failure._tag === "PREVIEW_EXISTS"))
        const offline = yield* runningSandboxOf({ networkEnabled: false })
        const refused = previews.create(offline.accountId, offline.sandboxId, { ...requestIdentity, port: 80 })
        assert.strictEqual((yield* Effect.flip(refused))._tag, "NETWORK_DISABLED")
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )
})
