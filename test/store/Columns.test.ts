/** What columns of Postgres come to, and what is refused of them. */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Int8 } from "../../src/store/Columns.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("an int8", (it) => {
  it.effect("is a number both ways, and refused where a number would not hold it exactly", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const next = SqlSchema.findOne({
        Request: Int8,
        Result: Schema.Struct({ next: Int8 }),
        execute: (value) => sql`select ${value}::int8 + 1 as next`
      })
      assert.deepStrictEqual(yield* next(2 ** 53 - 2), { next: 2 ** 53 - 1 })
      assert.deepStrictEqual(yield* next(-(2 ** 40)), { next: 1 - 2 ** 40 })
      assert.strictEqual((yield* Effect.flip(next(2 ** 53 - 1)))._tag, "SchemaError")
    })
  )
})
