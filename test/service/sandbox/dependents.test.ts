/** The dependents of a Sandbox get the end of a generation that is over. */

import { assert, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Operations } from "../../../src/operation/Operations.ts"
import { Dependents } from "../../../src/sandbox/Dependents.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("a dependent of a Sandbox", (it) => {
  it.effect("goes on when the end of an earlier generation arrives late", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const { accountId, workspaceId } = yield* newAccount
        const [sandboxes, operations, dependents] = [yield* Sandboxes, yield* Operations, yield* Dependents]
        const { sandbox } = yield* sandboxes.create({
          ...{ accountId, requestId: "req_test", idempotencyKey: "k", fingerprint: "f" },
          request: { workspaceId, name: null, networkEnabled: false, metadata: {}, env: {}, lifetime: null }
        })
        const becomes = (wanted: string) =>
          Effect.repeat(sandboxes.get(accountId, sandbox.id), {
            schedule: Schedule.spaced(5),
            until: ({ status }) => status === wanted
          })
        const begin = (key: string) =>
          operations.start(accountId, sandbox.id, {
            ...{ requestId: "req_test", idempotencyKey: key, fingerprint: "f", exhaustedAt: null },
            request: {
              ...{ argv: ["hang"], cwd: "/workspace", env: {}, stdin: null },
              ...{ encoding: "utf8" as const, timeoutSeconds: null }
            }
          })
        const statusOf = (id: string) =>
          Effect.map(operations.get(accountId, sandbox.id, id), ({ status, reason }) => [status, reason?.code])
        yield* becomes("running")
        const before = yield* begin("before")
        yield* sandboxes.stop(accountId, sandbox.id, { requestId: "req_test" })
        yield* sandboxes.start(accountId, sandbox.id, {
          requestId: "req_test",
          idempotencyKey: null,
          exhaustedAt: null
        })
        yield* becomes("running")
        const after = yield* begin("after")
        const reason = { code: "SANDBOX_STOPPED", message: publicText`The Sandbox was stopped.` }
        yield* dependents.close(sandbox.id, 1, reason)
        assert.deepStrictEqual(yield* statusOf(before.id), ["failed", "SANDBOX_STOPPED"])
        assert.include(["queued", "running"], (yield* statusOf(after.id))[0])
        yield* dependents.close(sandbox.id, 2, reason)
        assert.deepStrictEqual(yield* statusOf(after.id), ["failed", "SANDBOX_STOPPED"])
      }).pipe(Effect.provide(testAtoll(world, {})))
    })
  )
})
