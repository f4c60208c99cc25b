/** The reconciler: the Sandboxes' states and what is on the host converge. */

import { assert, layer } from "@effect/vitest"
import { Effect, PubSub, Schedule } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { RuntimeUnavailable } from "../../../src/runtime/Runtime.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { eventually } from "../../support/runtime/contract/commands.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

/** Running Sandboxes. */
const running = (count: number) =>
  Effect.gen(function* () {
    const { accountId, workspaceId } = yield* newAccount
    const sandboxes = yield* Sandboxes
    return yield* Effect.forEach(Array.from({ length: count }).keys(), (index) =>
      Effect.gen(function* () {
        const { sandbox } = yield* sandboxes.create({
          ...{ accountId, requestId: "req_test", idempotencyKey: `k${index}`, fingerprint: "f" },
          request: { workspaceId, name: null, networkEnabled: false, metadata: {}, env: {}, lifetime: null }
        })
        const get = sandboxes.get(accountId, sandbox.id)
        yield* Effect.repeat(get, { schedule: Schedule.spaced(5), until: ({ status }) => status === "running" })
        return { id: sandbox.id, get }
      })
    )
  })

const often = { ATOLL_RECONCILE_INTERVAL_MS: "100" }

layer(TestDatabase.layer, { excludeTestServices: true })("the reconciler", (it) => {
  it.effect("ends equal Sandboxes that ended together with one reason, whichever is reported first", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const ended = yield* running(3)
        world.machines.clear()
        // The runtime knows of only one: it lost the records of the others.
        const reason = { code: "CRASHED" as const, message: publicText`The Sandbox ended without being asked to.` }
        yield* PubSub.publish(world.downs, { type: "down", sandboxId: ended[0]!.id, generation: 1, reason })
        const told = yield* Effect.forEach(ended, ({ get }) =>
          Effect.repeat(get, { schedule: Schedule.spaced(5), until: ({ status }) => status === "stopped" })
        )
        for (const { statusReason } of told) assert.deepStrictEqual(statusReason, reason)
      }).pipe(Effect.provide(testAtoll(world, often)))
    })
  )

  it.effect("ends a Sandbox as lost when nothing of it is left on its host", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const [lost] = yield* running(1)
        world.machines.clear()
        world.volumes.clear()
        const told = yield* Effect.repeat(lost!.get, {
          schedule: Schedule.spaced(5),
          until: ({ status }) => status !== "running"
        })
        assert.strictEqual(told.statusReason?.code, "LOST")
      }).pipe(Effect.provide(testAtoll(world, often)))
    })
  )

  it.effect("ends other machines when one cannot be ended", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        world.intercept = (call, sandboxId) =>
          call === "destroy" && sandboxId === "sbx_stuck"
            ? new RuntimeUnavailable({ message: "It stays." })
            : Effect.void
        for (const sandboxId of ["sbx_stuck", "sbx_other"]) world.volumes.add(sandboxId)
        yield* eventually(Effect.sync(() => !world.volumes.has("sbx_other")))
        assert.isTrue(world.volumes.has("sbx_stuck"))
      }).pipe(Effect.provide(testAtoll(world, often)))
    })
  )
})
