/**
 * A page of 100 of the audit log of an account with 1,000,000 events, by each filter: p50 and p99 in milliseconds. Also
 * how long a start takes to give as many events of an earlier Atoll their new fields, and the cost of writing: events a
 * second in groups of 500.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type AuditEvent, type AuditFilter, insertEvents, selectEvents } from "../src/account/AuditRows.ts"
import { newId } from "../src/platform/identifier/newId.ts"
import { MaintenanceDatabase } from "../src/store/Database.ts"
import auditTable from "../src/store/migrations/0011_audit.ts"
import auditFields from "../src/store/migrations/0031_audit_fields.ts"
import { benchDatabase } from "./BenchDatabase.ts"
import { quantile } from "./BenchService.ts"

const events = Number(process.env["BENCH_EVENTS"] ?? 1_000_000)
const pages = 200
const account = "acc_bench"
const sandboxId = (at: number) => `sbx_${String(at).padStart(26, "0")}`
const start = Date.parse("2026-01-01T00:00:00Z")
const spacingMs = 1000

const program = Effect.gen(function* () {
  const sql = yield* MaintenanceDatabase

  yield* sql`drop table audit_events`
  yield* auditTable
  // One call of ten thousand is a rare action; one Sandbox of a thousand has half of the calls.
  yield* sql`
    insert into audit_events
    select 'aud_' || lpad(n::text, 26, '0'), ${account}, ${BigInt(start)} + n * ${BigInt(spacingMs)}, 'key_1', 'abcd',
      case when n % 10000 = 0 then 'DELETE' else 'POST' end,
      '/api/v2/sandboxes/sbx_' || lpad((case when n % 2 = 0 then 0 else n % 1000 end)::text, 26, '0')
        || case when n % 10000 = 0 then '' else '/execute' end,
      200, 'req_' || n, '127.0.0.1'
    from generate_series(1, ${events}::int) n`
  const began = performance.now()
  yield* Effect.provideService(auditFields, SqlClient.SqlClient, sql)
  console.log(`new fields for ${events} events: ${((performance.now() - began) / 1000).toFixed(1)} s`)
  yield* sql`vacuum analyze audit_events`

  const none: AuditFilter = { from: null, to: null, action: null, sandboxId: null }
  const middle = start + (events / 2) * spacingMs
  const asked: Readonly<Record<string, AuditFilter>> = {
    all: none,
    "from, to": { ...none, from: middle - 3600_000, to: middle },
    "a common action": { ...none, action: "execute" },
    "a rare action": { ...none, action: "deleteSandbox" },
    "an action that is not there": { ...none, action: "grantCredit" },
    "a busy Sandbox": { ...none, sandboxId: sandboxId(0) },
    "a Sandbox": { ...none, sandboxId: sandboxId(7) },
    "a rare action of a busy Sandbox": { ...none, sandboxId: sandboxId(0), action: "deleteSandbox" },
    "a rare action of a Sandbox": { ...none, sandboxId: sandboxId(7), action: "deleteSandbox" },
    "all four": { from: start, to: middle, sandboxId: sandboxId(0), action: "deleteSandbox" }
  }
  const table: Record<string, object> = {}
  for (const [name, filter] of Object.entries(asked)) {
    const took: Array<number> = []
    let read = 0
    for (let page = 0; page < pages; page++) {
      // Every other page lies deep in the log.
      const before = page % 2 === 0 ? null : { at: start + Math.floor((events * page) / pages) * spacingMs, id: "aud_" }
      const at = performance.now()
      read += (yield* selectEvents(sql, account, filter, { limit: 101, before })).length
      took.push(performance.now() - at)
    }
    table[name] = {
      "p50 ms": Number(quantile(took, 0.5).toFixed(2)),
      "p99 ms": Number(quantile(took, 0.99).toFixed(2)),
      "rows a page": Math.round(read / pages)
    }
  }
  console.table(table)

  const group = (): ReadonlyArray<AuditEvent> =>
    Array.from({ length: 500 }, (_, at) => ({
      id: newId("aud_"),
      accountId: account,
      at: Date.now(),
      source: "api",
      action: "execute",
      apiKeyId: "key_1",
      keyHint: "abcd",
      keyName: "bench",
      method: "POST",
      path: `/api/v2/sandboxes/${sandboxId(at)}/execute`,
      sandboxId: sandboxId(at),
      targetType: "sandbox",
      targetId: sandboxId(at),
      status: 200,
      errorCode: null,
      requestId: "req_0123456789abcdef01230000000",
      sourceIp: "127.0.0.1",
      userAgent: "curl/8"
    }))
  const writing = performance.now()
  for (let at = 0; at < 40; at++) yield* insertEvents(sql, group())
  console.log(`written: ${Math.round((40 * 500) / ((performance.now() - writing) / 1000))} events/s`)
})

NodeRuntime.runMain(program.pipe(Effect.provide(benchDatabase), Effect.orDie))
