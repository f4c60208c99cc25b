/**
 * The derived columns of actors, computed a second way: by SQL over the snapshots, as the database itself did it in
 * 0013.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const expressions = {
  ended_at: `floor(coalesce(
    snapshot -> 'context' ->> 'finishedAt', snapshot -> 'context' ->> 'endedAt', snapshot -> 'context' ->> 'deletedAt')::numeric)::bigint`,
  outcome: `case when kind = 'operation' and snapshot -> 'context' ->> 'finishedAt' is not null then snapshot ->> 'value' end`,
  duration_ms: `case when kind = 'operation' then
    floor((snapshot -> 'context' ->> 'finishedAt')::numeric)::bigint - floor((snapshot -> 'context' ->> 'startedAt')::numeric)::bigint end`,
  generation: `(snapshot -> 'context' ->> 'generation')::integer`,
  sandbox_status: `case when kind = 'sandbox' then snapshot ->> 'value' end`,
  labels: `case when kind = 'sandbox' then
    jsonb_build_object(account_id, coalesce(snapshot -> 'context' -> 'metadata', '{}')) end`
}

const each = (text: (column: string, expression: string) => string) =>
  Object.entries(expressions).map(([column, expression]) => text(column, expression))

/** Every column of every actor that differs from its snapshot. */
export const columnFaults = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql
    .unsafe<{ readonly fault: string }>(
      each(
        (column, expression) => `
          select kind || ' ' || id || ': ${column} is ' || coalesce(${column}::text, 'null') || ', its snapshot says '
            || coalesce((${expression})::text, 'null') as fault
          from actors where ${column} is distinct from ${expression}`
      ).join(" union all ")
    )
    .pipe(Effect.map((rows) => rows.map(({ fault }) => fault)))
)

/** For rows that a test wrote directly. */
export const fillColumns = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.unsafe(
    `update actors set ${each((column, expression) => `${column} = ${expression}`).join(", ")}
     where ${each((column, expression) => `${column} is distinct from ${expression}`).join(" or ")}`
  )
)
