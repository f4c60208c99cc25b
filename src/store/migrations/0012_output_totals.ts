/**
 * What each Sandbox has stored of output, counted in the statements that store and forget: bytes, and 320 for each chunk.
 *
 * Output is written and forgotten all the time, so its dead rows are given back early. Its age is asked for every minute: a block range index
 * over pages that are used again soon covers everything, a tree does not.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table output_totals (
      sandbox_id text primary key,
      stored_bytes bigint not null
    ) with (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0)`
  yield* sql`
    insert into output_totals (sandbox_id, stored_bytes)
    select sandbox_id, sum(end_offset - start_offset + 320) from output_chunks group by sandbox_id`
  yield* sql`drop index output_chunks_age`
  yield* sql`create index output_chunks_age on output_chunks (at)`
  yield* sql`
    alter table output_chunks set (
      autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0,
      toast.autovacuum_vacuum_threshold = 20000, toast.autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_cost_delay = 0
    )`
  yield* sql`alter table outputs set (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.05)`
})
