import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../../src/account/Accounts.ts"
import { ApiKeys } from "../../../src/account/ApiKeys.ts"
import { Authentication } from "../../../src/account/Authentication.ts"
import { KeyUse } from "../../../src/account/KeyUse.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

layer(Layer.mergeAll(Accounts.layer, ApiKeys.layer).pipe(Layer.provideMerge(TestDatabase.layer)), {
  excludeTestServices: true
})("the last use of a key", (it) => {
  it.effect("is visible immediately, is written when the service stops, and never goes back", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const { id: accountId } = yield* (yield* Accounts).named("one")
      const { key, secret } = yield* keys.create({ accountId, name: "used", scopes: ["sandbox:read"] })
      const lastUsedAt = Effect.map(keys.get(key.id), (found) => found!.lastUsedAt)

      /** A service's life: it accepts the key, and stops. */
      const life = Effect.gen(function* () {
        const scope = yield* Scope.make()
        const services = yield* Layer.buildWithScope(
          Layer.fresh(Authentication.layer.pipe(Layer.provideMerge(KeyUse.layer))),
          scope
        )
        const before = Date.now()
        yield* Effect.gen(function* () {
          yield* (yield* Authentication).authenticate(secret)
          assert.isAtLeast((yield* KeyUse).unwritten(key.id)?.at ?? 0, before)
        }).pipe(Effect.provideContext(services))
        yield* Scope.close(scope, Exit.void)
      })

      assert.isNull(yield* lastUsedAt)
      yield* life
      const first = yield* lastUsedAt
      assert.isBelow(Math.abs(Date.now() - first!), 60_000)
      yield* life
      assert.isAtLeast((yield* lastUsedAt)!, first!)
    })
  )

  it.effect("is kept when a write fails, and is written the next time", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const keys = yield* ApiKeys
      const { id: accountId } = yield* (yield* Accounts).named("two")
      const { key } = yield* keys.create({ accountId, name: "kept", scopes: ["sandbox:read"] })
      yield* Effect.gen(function* () {
        const { note, unwritten, write } = yield* KeyUse
        // Before the use: the worker writes, too.
        yield* sql`alter table api_keys rename column last_used_at to hidden`
        note(key.id, "192.0.2.7")
        const use = unwritten(key.id)
        yield* write
        assert.strictEqual(unwritten(key.id), use)
        yield* sql`alter table api_keys rename column hidden to last_used_at`
        yield* write
        assert.isNull(unwritten(key.id))
        assert.deepInclude(yield* keys.get(key.id), { lastUsedAt: use!.at, lastUsedFrom: "192.0.2.7" })
      }).pipe(Effect.provide(Layer.fresh(KeyUse.layer)))
    })
  )
})
