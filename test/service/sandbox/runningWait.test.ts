/** A service that stops answers waits for a running Sandbox, and does not cut them. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Shutdown } from "../../../src/platform/shutdown/Shutdown.ts"
import { RunningWait } from "../../../src/sandbox/RunningWait.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { request } from "../../support/TestSandboxes.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("a wait for a Sandbox to run", (it) => {
  it.effect("lasts 30 s by default", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* RunningWait, 30_000)
    })
  )

  it.effect("ends with the service, with the present state", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      world.intercept = (call) => (call === "provision" ? Effect.never : Effect.void)
      yield* Effect.gen(function* () {
        const { accountId, workspaceId } = yield* newAccount
        const sandboxes = yield* Sandboxes
        const shutdown = yield* Shutdown
        const create = sandboxes.create({
          ...{ accountId, requestId: "req_test", idempotencyKey: "k", fingerprint: "f", wait: "running" },
          request: { workspaceId, name: null, networkEnabled: false, metadata: {}, env: {}, lifetime: null }
        })
        const creating = yield* Effect.forkChild(Effect.uninterruptible(create))
        const { id } = yield* Effect.repeat(
          Effect.map(
            sandboxes.list(accountId, { status: null, workspaceId: null, metadata: {}, limit: null, cursor: null }),
            ({ sandboxes: [first] }) => first
          ),
          { until: (first) => first !== undefined }
        ).pipe(Effect.map((first) => first!))
        const starts = yield* Effect.forEach([null, "start"], (idempotencyKey) =>
          Effect.forkChild(
            Effect.uninterruptible(sandboxes.start(accountId, id, { ...request, idempotencyKey, wait: "running" }))
          )
        )
        yield* Effect.sleep(200)
        const began = performance.now()
        shutdown.begin()
        const made = yield* Fiber.join(creating)
        assert.deepStrictEqual([made.replayStatus, made.sandbox.id, made.sandbox.status], [202, id, "pending"])
        for (const start of starts) assert.deepInclude(yield* Fiber.join(start), { id, status: "pending" })
        // A later wait is answered, too, and immediately.
        assert.strictEqual((yield* create).replayStatus, 202)
        assert.isBelow(performance.now() - began, 20_000)
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )
})
