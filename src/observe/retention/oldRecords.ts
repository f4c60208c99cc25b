/** Deletes old samples, records of executes, and Idempotency-Keys of starts. */
import type { SqlClient } from "effect/sql"
import { inhabitedStates } from "../../sandbox/sandboxStates.ts"
import { textColumn } from "../../store/Columns.ts"
import { batch, counted, keepCounts, repeatedly } from "./removal.ts"

/** @param cutoff,endedCutoff Epoch milliseconds: what is older goes. */
export const oldRecords = (sql: SqlClient.SqlClient, cutoff: bigint, endedCutoff: bigint) => {
  const samples = repeatedly(
    counted(
      sql,
      // The newest CPU time of a boot stays as long as another sample may come, because growth is computed from it. Waking is not a new boot.
      `with doomed as (
              select sandbox_id, at from telemetry_samples t where at < $1
                and (cpu_seconds is null
                     or exists (select 1 from telemetry_samples n where n.sandbox_id = t.sandbox_id and n.at > t.at and n.cpu_seconds is not null)
                     or not exists (select 1 from actors a where a.id = t.sandbox_id and a.sandbox_status = any($2::text[])))
              limit ${batch}),
            gone as (delete from telemetry_samples t using doomed d where t.sandbox_id = d.sandbox_id and t.at = d.at returning 1)
       select count(*)::int4 as count from gone`,
      [cutoff, textColumn(inhabitedStates)]
    )
  )

  const executions = repeatedly(
    counted(
      sql,
      `with doomed as (select id from executions where finished_at < $1 limit ${batch}),
            gone as (delete from executions e using doomed d where e.id = d.id returning e.account_id, e.started_at as at),
            counted as (${keepCounts("executes", "select account_id, at from gone")})
       select count(*)::int4 as count from gone`,
      [cutoff]
    )
  )

  const startKeys = repeatedly(
    counted(
      sql,
      `with doomed as (
         select account_id, kind, key from idempotency_keys where kind like 'sandbox.start:%' and created_at < $1 limit ${batch}
       ), gone as (
         delete from idempotency_keys k using doomed d
         where k.account_id = d.account_id and k.kind = d.kind and k.key = d.key returning 1)
       select count(*)::int4 as count from gone`,
      [endedCutoff]
    )
  )

  return { samples, executions, startKeys }
}
