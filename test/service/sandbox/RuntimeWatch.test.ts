/** The host's machines and the Sandboxes' states converge, and work under way is not disturbed. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Schedule } from "effect"
import { simulatedRuntime } from "../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { RuntimeUnavailable } from "../../../src/runtime/Runtime.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, untilStatus } from "../../support/TestSandboxes.ts"

const often = { ATOLL_RECONCILE_INTERVAL_MS: "20" }

const specOf = (sandboxId: string) => ({
  sandboxId,
  generation: 1,
  vcpus: 1,
  memoryBytes: 1,
  volumeBytes: 1,
  networkEnabled: false
})

layer(TestDatabase.layer, { excludeTestServices: true })("the reconciler", (it) => {
  it.effect("destroys a machine, or a volume, that belongs to no Sandbox", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* simulatedRuntime(world).provision(specOf("sbx_nobodys"))
      world.volumes.add("sbx_bare")
      yield* Effect.gen(function* () {
        yield* Effect.repeat(
          Effect.sync(() => world.machines.size + world.volumes.size),
          { schedule: Schedule.spaced(5), until: (left) => left === 0 }
        )
        // A later one goes too.
        yield* simulatedRuntime(world).provision(specOf("sbx_late"))
        yield* Effect.repeat(
          Effect.sync(() => world.machines.size + world.volumes.size),
          { schedule: Schedule.spaced(5), until: (left) => left === 0 }
        )
      }).pipe(Effect.provide(testAtoll(world, often)))
    })
  )

  it.effect("leaves a machine alone whose Sandbox is being ended", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const mayStop = yield* Deferred.make<void>()
      let stops = 0
      let inventories = 0
      world.intercept = (call) => {
        if (call === "provision") return Effect.fail(new RuntimeUnavailable({ message: "Its answer was lost." }))
        if (call === "inventory") return Effect.sync(() => void inventories++)
        if (call !== "stop") return Effect.void
        stops++
        return Deferred.await(mayStop)
      }
      yield* Effect.gen(function* () {
        const account = yield* newAccount
        const { id } = (yield* createIn(account)).sandbox
        // It came up all the same.
        world.machines.set(id, {
          spec: specOf(id),
          state: "running",
          processes: new Map(),
          starts: new Map(),
          ended: new Set(),
          lateStarts: [],
          waiting: new Set(),
          listeners: new Map(),
          files: new Map(),
          tunnels: new Set()
        })
        yield* untilStatus(account.accountId, id, "failed")
        const from = inventories
        yield* Effect.repeat(
          Effect.delay(
            Effect.sync(() => inventories),
            5
          ),
          { until: (now) => now >= from + 3 }
        )
        assert.strictEqual(stops, 1)
        yield* Deferred.succeed(mayStop, undefined)
        yield* Effect.repeat(
          Effect.sync(() => world.machines.has(id)),
          { schedule: Schedule.spaced(5), until: (has) => !has }
        )
      }).pipe(Effect.ensuring(Deferred.succeed(mayStop, undefined)), Effect.provide(testAtoll(world, often)))
    })
  )
})
