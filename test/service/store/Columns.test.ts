/** How columns of Postgres are decoded, and which values are refused. */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Int8, Int8FromText } from "../../../src/store/Columns.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

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

  it.effect("is also decoded from JSON's text, and refused where it is no exact number", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const read = SqlSchema.findOne({
        Request: Schema.String,
        Result: Schema.Struct({ read: Int8FromText }),
        execute: (text) => sql`select json_build_object('n', ${text}::text) ->> 'n' as read`
      })
      assert.deepStrictEqual(yield* read(String(2 ** 53 - 1)), { read: 2 ** 53 - 1 })
      assert.deepStrictEqual(yield* read("-7"), { read: -7 })
      for (const text of [String(2n ** 53n), "0.5", "NaN", "seven"]) {
        assert.strictEqual((yield* Effect.flip(read(text)))._tag, "SchemaError", text)
      }
    })
  )
})
