/** What a Sandbox has open is found without its past, by a planner that knows nothing of the table yet, too. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { openIn } from "../../../src/store/openActors.ts"
import { rowsRead, settle } from "../../support/rowsRead.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("a Sandbox with many finished operations", (it) => {
  it.effect("has its open operations found, and no other row read", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // As in a database whose statistics are from its first minutes.
      yield* sql`alter table actors set (autovacuum_enabled = false)`
      yield* sql`analyze actors`
      yield* sql`
        insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, pending, due_at, created_at)
        select 'op_' || n, 'operation', 'acc', 'sbx_' || n % 2, 1, 1, '{}',
          jsonb_build_object('value', case when n <= 4 then 'queued' else 'completed' end, 'context', '{}'::jsonb),
          case when n in (1, 2) then '[{"type": "startProcess"}]' else '[]' end::jsonb, case when n in (3, 4) then 5 end, n
        from generate_series(1, 4000) n`
      const found = sql<{ readonly id: string }>`
        select id from actors where ${sql.literal(openIn("actors"))} = ${"sbx_1"} and kind = 'operation' and status = 'queued'`
      for (const isSettled of [false, true]) {
        if (isSettled) yield* settle("actors")
        const { result, rows } = yield* rowsRead("actors", found)
        assert.deepStrictEqual(result.map(({ id }) => id).sort(), ["op_1", "op_3"])
        assert.isBelow(rows, 20)
      }
    })
  )
})
