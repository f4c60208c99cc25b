import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Database, JournalDatabase } from "../../../src/store/Database.ts"
import { DatabaseServer } from "../../../src/store/DatabaseServer.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("the connections of a process", (it) => {
  it.effect("include separate ones for the journal, whose plans are never fitted to an empty table", () =>
    Effect.gen(function* () {
      const journal = yield* JournalDatabase
      const sql = yield* SqlClient.SqlClient
      assert.deepStrictEqual(yield* journal`show plan_cache_mode`, [{ plan_cache_mode: "force_generic_plan" }])
      assert.deepStrictEqual(yield* sql`show plan_cache_mode`, [{ plan_cache_mode: "auto" }])
    })
  )

  it.effect("all reach the same database, and commits are durable before they are acknowledged", () =>
    Effect.gen(function* () {
      const { name } = yield* TestDatabase
      const query = "select current_database() as name, current_setting('synchronous_commit') as sync"
      const expected = [{ name, sync: "on" }]
      assert.deepStrictEqual(yield* (yield* JournalDatabase).unsafe(query), expected)
      assert.deepStrictEqual(yield* (yield* SqlClient.SqlClient).unsafe(query), expected)
    })
  )
})

describe("a database that cannot serve", () => {
  const refusal = (url: string) =>
    Effect.flip(Effect.scoped(Layer.build(Database.layerOn))).pipe(
      Effect.map((error) => error.message),
      Effect.provide([DatabaseServer.at(Redacted.make(url)), testSettings({ ATOLL_DATABASE_WAIT_MS: "300" })])
    )

  it.live("without a listener is waited for, then named without its password", () =>
    Effect.gen(function* () {
      const message = yield* refusal("postgres://someone:hunter2@127.0.0.1:1/shop")
      assert.match(message, /DATABASE_URL \(127\.0\.0\.1:1\/shop\), cannot be reached \(waited 0 s\): .*ECONNREFUSED/)
      assert.notInclude(message, "hunter2")
    })
  )

  it.live("that does not exist on the server is refused immediately", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const message = yield* refusal(url.replace(/test_\w+/, "nowhere"))
      assert.match(message, /refused the connection: database "nowhere" does not exist/)
    }).pipe(Effect.provide(TestDatabase.empty))
  )

  it.live("whose DATABASE_URL is no URL is reported without a quotation, because it may hold a password", () =>
    Effect.gen(function* () {
      const message = yield* refusal("hunter2")
      assert.match(message, /^DATABASE_URL must look like/)
      assert.notInclude(message, "hunter2")
    })
  )
})
