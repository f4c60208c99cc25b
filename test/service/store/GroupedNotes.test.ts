import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { int4Column } from "../../../src/store/Columns.ts"
import { groupedNotes } from "../../../src/store/GroupedNotes.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("notes that are written in groups", (it) => {
  it.effect("lose alone the note that the database can never hold, and it is not retried", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`create table noted (value int4 not null)`
      let tries = 0
      const notes = yield* groupedNotes<number>({
        what: "numbers",
        name: "numbers",
        writeAfterMs: 1_000_000,
        insert: (values) => {
          tries++
          return sql.unsafe("insert into noted select * from unnest($1::int4[])", [int4Column(values)])
        }
      })
      const values = [1, 2, Number.MAX_SAFE_INTEGER, 3, 1.5, 4]
      for (const value of values) notes.note(value)
      yield* notes.write
      const rows = yield* sql<{ readonly value: number }>`select value from noted order by value`
      assert.deepStrictEqual(
        rows.map(({ value }) => value),
        [1, 2, 3, 4]
      )
      const before = tries
      yield* notes.write
      assert.strictEqual(tries, before)
    })
  )
})
