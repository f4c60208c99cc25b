import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Schedule } from "effect"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { Actors } from "../../../src/store/Actors.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, request, untilStatus } from "../../support/TestSandboxes.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("a stray runtime", (it) => {
  it.effect("is ended in the order of its Sandbox's events, and a start's runtime is not", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const stopping = yield* Deferred.make<void>()
      const mayStop = yield* Deferred.make<void>()
      yield* Effect.gen(function* () {
        const sandboxes = yield* Sandboxes
        const account = yield* newAccount
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(account.accountId, id, "running")
        const stray = world.machines.get(id)!
        yield* sandboxes.stop(account.accountId, id, request)
        world.intercept = (call) =>
          call === "stop" ? Effect.andThen(Deferred.succeed(stopping, undefined), Deferred.await(mayStop)) : Effect.void
        world.machines.set(id, stray)
        yield* Deferred.await(stopping)
        const started = yield* sandboxes.start(account.accountId, id, { ...request, idempotencyKey: null })
        assert.strictEqual(started.status, "running")
        yield* Deferred.succeed(mayStop, undefined)
        // A delayed stop would happen within these.
        for (let turn = 0; turn < 50; turn++) yield* sandboxes.get(account.accountId, id)
        assert.strictEqual(world.machines.get(id)?.spec.generation, 2)
        const log = yield* (yield* Actors).log(id, 0, 100)
        assert.include(
          log.map(({ event }) => event.type),
          "RUNTIME_FOUND"
        )
      }).pipe(
        Effect.ensuring(Deferred.succeed(mayStop, undefined)),
        Effect.provide(testAtoll(world, { ATOLL_RECONCILE_INTERVAL_MS: "20" }))
      )
    })
  )

  it.effect("that was frozen after its Sandbox woke is asleep, and wakes at the next start", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const sandboxes = yield* Sandboxes
        const account = yield* newAccount
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(account.accountId, id, "running")
        world.machines.get(id)!.state = "suspended"
        yield* untilStatus(account.accountId, id, "sleeping")
        const started = yield* sandboxes.start(account.accountId, id, { ...request, idempotencyKey: null })
        assert.strictEqual(started.status, "running")
        assert.strictEqual(world.machines.get(id)?.state, "running")
      }).pipe(Effect.provide(testAtoll(world, { ATOLL_RECONCILE_INTERVAL_MS: "20" })))
    })
  )

  it.effect("that a late boot let run while its Sandbox sleeps is frozen again, and still wakes", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const sandboxes = yield* Sandboxes
        const account = yield* newAccount
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(account.accountId, id, "running")
        yield* (yield* ActorHost).send(sandboxMachine, id, { type: "SLEEP" }, { cause: "idle" })
        const machine = world.machines.get(id)!
        const frozen = Effect.suspend(() =>
          machine.state === "suspended" ? Effect.void : Effect.fail("It runs." as const)
        ).pipe(Effect.retry({ schedule: Schedule.spaced("5 millis"), times: 2_000 }))
        yield* frozen
        machine.state = "running"
        yield* frozen
        assert.strictEqual((yield* sandboxes.get(account.accountId, id)).status, "sleeping")
        yield* sandboxes.start(account.accountId, id, { ...request, idempotencyKey: null })
        assert.strictEqual(world.machines.get(id), machine)
        assert.strictEqual(machine.state, "running")
      }).pipe(Effect.provide(testAtoll(world, { ATOLL_RECONCILE_INTERVAL_MS: "20" })))
    })
  )
})
