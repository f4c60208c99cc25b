/** Each service's periodic queries read the work that is due, and not what waits. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { isAlive } from "../../../src/sandbox/aliveSandboxes.ts"
import { JournalDatabase } from "../../../src/store/Database.ts"
import { Journal } from "../../../src/store/Journal.ts"
import { fillColumns } from "../../support/derivedColumns.ts"
import { rowsRead, settle } from "../../support/rowsRead.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"

const farAway = 4_000_000_000_000

layer(Journal.layer.pipe(Layer.provideMerge(TestDatabase.layer), Layer.provide(testSettings())), {
  excludeTestServices: true
})("a database with many waiting actors", (it) => {
  it.effect("finds due, pending and live actors, and reads no other rows", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const journal = yield* Journal
      const own = yield* JournalDatabase
      yield* sql`
        insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, pending, due_at, created_at)
        select 'sbx_' || n, 'sandbox', 'acc', 'sbx_' || n, 3, 1, '{}',
          jsonb_build_object('value', case when n % 500 = 0 then 'running' when n % 500 = 1 then 'sleeping' else 'stopped' end, 'context', '{}'::jsonb),
          case when n = 7 then '[{"type": "meter"}]' else '[]' end::jsonb, case when n = 8 then 5 when n = 7 then null else ${farAway}::int8 + n end, n
        from generate_series(1, 4000) n`
      yield* fillColumns
      yield* settle("actors")
      const due = yield* rowsRead("actors", journal.waiting(10)).pipe(Effect.provideService(SqlClient.SqlClient, own))
      assert.deepStrictEqual(due.result.map(({ id, hasPending, dueAt }) => [id, hasPending, dueAt]).sort(), [
        ["sbx_7", true, null],
        ["sbx_8", false, 5]
      ])
      assert.isBelow(due.rows, 50)
      // A clock before 1970 does not hide pending work.
      assert.deepStrictEqual(
        (yield* journal.waiting(-1)).map(({ id }) => id),
        ["sbx_7"]
      )
      const alive = yield* rowsRead("actors", sql`select id, snapshot from actors where ${isAlive(sql)}`)
      assert.strictEqual(alive.result.length, 16)
      assert.isBelow(alive.rows, 50)
    })
  )
})
