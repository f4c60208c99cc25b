/** Creates of one account that wait for each other leave database connections to other work. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, untilStatus } from "../../support/TestSandboxes.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("creations of one account", (it) => {
  it.effect("wait for each other without holding a connection each", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [busy, other] = [yield* newAccount, yield* newAccount]
        const [isLocked, mayGo] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        // Another process counts the account's Sandboxes slowly.
        const counting = yield* Effect.forkChild(
          sql.withTransaction(
            sql`select 1 from accounts where id = ${busy.accountId} for no key update`.pipe(
              Effect.andThen(Deferred.succeed(isLocked, undefined)),
              Effect.andThen(Deferred.await(mayGo))
            )
          )
        )
        yield* Deferred.await(isLocked)
        const creating = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, n) => `${n}`),
          (key) => Effect.forkChild(createIn(busy, key))
        )
        const { id } = (yield* createIn(other)).sandbox
        yield* untilStatus(other.accountId, id, "running")
        assert.isTrue(creating.every((fiber) => fiber.pollUnsafe() === undefined))
        yield* Deferred.succeed(mayGo, undefined)
        yield* Fiber.join(counting)
        const made = yield* Effect.forEach(creating, Fiber.join)
        assert.strictEqual(new Set(made.map(({ sandbox }) => sandbox.id)).size, 20)
        const { sandboxes } = yield* (yield* Sandboxes).list(busy.accountId, {
          ...{ status: null, workspaceId: null, metadata: {}, limit: 100, cursor: null }
        })
        assert.strictEqual(sandboxes.length, 20)
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )
})
