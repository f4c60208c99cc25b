/**
 * What lists, analytics and retention ask of actors, as columns generated from the snapshot: one truth still.
 *
 * None of the indexed ones changes in a transition between two open states, except a Sandbox's status (whose transitions carry commands, and so
 * touch the index of what waits anyhow): such a transition stays a HOT update. `ended_at` and its like are null until the end.
 *
 * `labels` is the metadata of a Sandbox below its account's id, so that a search for a pair that many accounts use reads one account's.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Through numeric: a fraction in a snapshot must not make its row impossible to write.
  yield* sql`
    alter table actors
      add column ended_at bigint generated always as (
        floor(coalesce(
          snapshot -> 'context' ->> 'finishedAt', snapshot -> 'context' ->> 'endedAt', snapshot -> 'context' ->> 'deletedAt'
        )::numeric)::bigint) stored,
      add column outcome text generated always as (
        case when kind = 'operation' and snapshot -> 'context' ->> 'finishedAt' is not null then snapshot ->> 'value' end) stored,
      add column duration_ms bigint generated always as (
        case when kind = 'operation' then
          floor((snapshot -> 'context' ->> 'finishedAt')::numeric)::bigint - floor((snapshot -> 'context' ->> 'startedAt')::numeric)::bigint
        end) stored,
      add column generation integer generated always as (
        case when kind = 'operation' then (snapshot -> 'context' ->> 'generation')::integer end) stored,
      add column sandbox_status text generated always as (
        case when kind = 'sandbox' then snapshot ->> 'value' end) stored,
      add column labels jsonb generated always as (
        case when kind = 'sandbox' then
          jsonb_set('{}', array[account_id], coalesce(snapshot -> 'context' -> 'metadata', '{}'))
        end) stored`
  yield* sql`
    create index actors_finished on actors (sandbox_id, ended_at) include (outcome, duration_ms, generation)
    where kind = 'operation' and ended_at is not null`
  // An index answers alone only for pages that were vacuumed since they changed.
  yield* sql`alter table actors set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05)`
  yield* sql`create index actors_ended on actors (ended_at) where kind <> 'sandbox' and ended_at is not null`
  yield* sql`create index actors_deleted on actors (ended_at) where kind = 'sandbox' and ended_at is not null`
  yield* sql`
    create index actors_sandbox_status on actors (account_id, sandbox_status, created_at desc, id desc) where kind = 'sandbox'`
  yield* sql`
    create index actors_labels on actors using gin (labels jsonb_path_ops) with (fastupdate = off) where kind = 'sandbox'`
})
