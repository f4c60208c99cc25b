/** The cost of wrong keys, counted in statements: durations mean little on a shared machine. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../../src/account/Accounts.ts"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { ApiKeys } from "../../../src/account/ApiKeys.ts"
import { Authentication } from "../../../src/account/Authentication.ts"
import { leaseMs } from "../../../src/account/KeyLease.ts"
import { KeyUse } from "../../../src/account/KeyUse.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

/** The statements that were sent, and the most that ran concurrently. */
const counted = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const seen = { statements: 0, underWay: 0, atOnce: 0 }
  const count = (statement: Effect.Effect<unknown>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        seen.statements++
        seen.atOnce = Math.max(seen.atOnce, ++seen.underWay)
      }),
      () => statement,
      () => Effect.sync(() => void seen.underWay--)
    )
  const client = new Proxy(sql, {
    apply: (target, self, args) => count(Reflect.apply(target as never, self, args)),
    get: (target, name) => {
      const member = Reflect.get(target, name)
      return name === "unsafe" ? (...args: Array<unknown>) => count(Reflect.apply(member, target, args)) : member
    }
  })
  const authentication = Authentication.layer.pipe(
    Layer.provide(KeyUse.layer),
    Layer.provide(Layer.succeed(SqlClient.SqlClient, client))
  )
  return { seen, authentication }
})

const services = Layer.merge(Accounts.layer, ApiKeys.layer)

const newKey = Effect.gen(function* () {
  const { id } = yield* (yield* Accounts).create({ name: newSecret(), email: null })
  const { secret } = yield* (yield* ApiKeys).create({ accountId: id, name: "k", scopes: ["sandbox:read"] })
  return secret
})

layer(TestDatabase.layer, { excludeTestServices: true })("authentication", (it) => {
  it.effect("sends the database no statement for text that is not a key", () =>
    Effect.gen(function* () {
      const { seen, authentication } = yield* counted
      yield* Effect.gen(function* () {
        const { authenticate } = yield* Authentication
        const secret = newSecret()
        for (const wrong of [
          "x",
          "a".repeat(512),
          secret.slice(1),
          `${secret}0`,
          `${secret.slice(0, -1)}-`,
          "atoll_live_"
        ]) {
          assert.strictEqual((yield* Effect.flip(authenticate(wrong)))._tag, "UNAUTHENTICATED")
        }
      }).pipe(Effect.provide(authentication))
      assert.strictEqual(seen.statements, 0)
    })
  )

  it.effect(
    "looks up any number of wrong keys in a few statements, one at a time, and accepts a new key immediately",
    () =>
      Effect.gen(function* () {
        const { seen, authentication } = yield* counted
        yield* Effect.gen(function* () {
          const { authenticate } = yield* Authentication
          const known = yield* newKey
          yield* authenticate(known)
          const guess = Effect.flip(Effect.suspend(() => authenticate(newSecret())))
          const wrong = yield* Effect.forkChild(
            Effect.forEach(Array.from({ length: 2000 }), () => guess, { concurrency: "unbounded" })
          )
          yield* Effect.yieldNow
          const made = yield* newKey
          assert.deepStrictEqual([...(yield* authenticate(made)).scopes], ["sandbox:read"])
          const faults = yield* Fiber.join(wrong)
          assert.isTrue(faults.every(({ _tag }) => _tag === "UNAUTHENTICATED"))
          // One statement for the first key, then one for each thousand.
          assert.isAtMost(seen.statements, 6)
          assert.strictEqual(seen.atOnce, 1)
          yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, leaseMs)))
          yield* Effect.all([authenticate(known), guess], { concurrency: 2 })
          // A known key does not wait behind wrong ones.
          assert.strictEqual(seen.atOnce, 2)
        }).pipe(Effect.provide(authentication))
      }).pipe(Effect.provide(services))
  )

  it.effect("shares one statement among the concurrent requests of one key", () =>
    Effect.gen(function* () {
      const { seen, authentication } = yield* counted
      yield* Effect.gen(function* () {
        const { authenticate } = yield* Authentication
        const secret = yield* newKey
        yield* Effect.forEach(Array.from({ length: 200 }), () => authenticate(secret), { concurrency: "unbounded" })
        assert.strictEqual(seen.statements, 1)
      }).pipe(Effect.provide(authentication))
    }).pipe(Effect.provide(services))
  )
})
