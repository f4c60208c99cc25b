import { assert, layer } from "@effect/vitest"
import { Effect, PubSub, Schedule } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { RuntimeRefused } from "../../../src/runtime/Runtime.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const request = { requestId: "req_test", exhaustedAt: null }

/** A running Sandbox. */
const running = Effect.gen(function* () {
  const { accountId, workspaceId } = yield* newAccount
  const sandboxes = yield* Sandboxes
  const { sandbox } = yield* sandboxes.create({
    ...{ accountId, requestId: "req_test", idempotencyKey: "k", fingerprint: "f" },
    request: { workspaceId, name: null, networkEnabled: false, metadata: {}, env: {}, lifetime: null }
  })
  const get = sandboxes.get(accountId, sandbox.id)
  yield* Effect.repeat(get, { schedule: Schedule.spaced(5), until: ({ status }) => status === "running" })
  return { accountId, id: sandbox.id, get }
})

layer(TestDatabase.layer, { excludeTestServices: true })("a host at its limits", (it) => {
  it.effect("refuses a start with the limit each time, and keeps the volume", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const sandboxes = yield* Sandboxes
        const { accountId, id, get } = yield* running
        yield* sandboxes.stop(accountId, id, request)
        world.intercept = (call) =>
          call === "provision" ? new RuntimeRefused({ code: "HOST_FULL", message: publicText`No room.` }) : Effect.void
        for (const idempotencyKey of [null, "key", "key"]) {
          const refused = yield* Effect.flip(sandboxes.start(accountId, id, { ...request, idempotencyKey }))
          assert.deepInclude(refused, { _tag: "SANDBOX_LIMIT_REACHED", message: "No room." })
        }
        assert.strictEqual((yield* get).status, "stopped")
        world.intercept = () => Effect.void
        assert.strictEqual(
          (yield* sandboxes.start(accountId, id, { ...request, idempotencyKey: null })).status,
          "running"
        )
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )

  it.effect("that holds up a runtime leaves its Sandbox running, with the reason until the runtime goes on", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const sandboxes = yield* Sandboxes
        const { accountId, id, get } = yield* running
        const reason = { code: "HOST_FULL" as const, message: publicText`It waits.` }
        yield* PubSub.publish(world.stalls, { type: "stalled", sandboxId: id, generation: 1, reason })
        const held = yield* Effect.repeat(get, {
          schedule: Schedule.spaced(5),
          until: ({ statusReason }) => statusReason !== null
        })
        assert.deepStrictEqual([held.status, held.statusReason], ["running", reason])
        const started = yield* sandboxes.start(accountId, id, { ...request, idempotencyKey: null })
        assert.deepStrictEqual([started.status, started.generation, started.statusReason], ["running", 1, reason])
        // Of another generation: ignored.
        yield* PubSub.publish(world.stalls, { type: "resumed", sandboxId: id, generation: 2 })
        yield* PubSub.publish(world.stalls, { type: "resumed", sandboxId: id, generation: 1 })
        const resumed = yield* Effect.repeat(get, {
          schedule: Schedule.spaced(5),
          until: ({ statusReason }) => statusReason === null
        })
        assert.strictEqual(resumed.status, "running")
        const { transitions } = yield* sandboxes.transitions(accountId, id, { limit: 100, cursor: null })
        assert.deepStrictEqual(transitions.map(({ event }) => event.type).slice(-2), [
          "RUNTIME_STALLED",
          "RUNTIME_RESUMED"
        ])
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )
})
