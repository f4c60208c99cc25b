/** The lists of audit events over all accounts read their page, and not the log. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type AuditFilter, type AuditPosition, selectEvents } from "../../../src/account/AuditRows.ts"
import { rowsRead, settle } from "../../support/rowsRead.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const any: AuditFilter = { from: null, to: null, action: null, sandboxId: null }

layer(TestDatabase.layer, { excludeTestServices: true })("an audit log of many accounts", (it) => {
  it.effect("is read a page at a time, with and without a filter, from the middle of it, too", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        insert into audit_events (id, account_id, at, source, action, method, path, status, request_id, source_ip)
        select 'aud_' || lpad(n::text, 26, '0'), case when n % 2000 = 0 then null else 'acc_' || n % 100 end, n,
          case when n % 1000 = 0 then 'operator' else 'api' end, case when n % 1500 = 0 then 'deleteSandbox' else 'execute' end,
          'POST', '/', 200, 'req', '127.0.0.1'
        from generate_series(1, 20000) n`
      yield* settle("audit_events")
      const middle: AuditPosition = { at: 10_000, id: "aud_00000000000000000000010000" }
      const cases: ReadonlyArray<readonly [string | null, AuditFilter, before: AuditPosition | null, found: number]> = [
        [null, any, null, 10],
        [null, any, middle, 10],
        [null, { ...any, action: "deleteSandbox" }, null, 10],
        [null, { ...any, action: "deleteSandbox" }, middle, 6],
        [null, { ...any, source: "operator" }, null, 10],
        [null, { ...any, source: "operator" }, middle, 9],
        [null, { ...any, from: 100, to: 105 }, null, 5],
        ["acc_7", any, middle, 10]
      ]
      for (const [accountId, filter, before, found] of cases) {
        const read = yield* rowsRead("audit_events", selectEvents(sql, accountId, filter, { limit: 10, before }))
        const words = JSON.stringify([accountId, filter, before])
        assert.lengthOf(read.result, found, words)
        assert.isAtMost(read.rows, 20, words)
      }
    })
  )
})
