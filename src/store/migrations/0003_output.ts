/**
 * Output, written once and read twice: as the output of an operation by absolute offset, and as the log of a Sandbox by time.
 *
 * `outputs` has one row a stream (owner is an operation, a synchronous execute, or the console of one generation);
 * `output_chunks` its bytes. `next_offset` counts everything ever stored, `retained_offset` is the first byte still kept.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table outputs (
      owner_id text not null,
      stream text not null check (stream in ('stdout', 'stderr')),
      sandbox_id text not null,
      source text not null check (source in ('workload', 'execute', 'process')),
      next_offset bigint not null default 0,
      retained_offset bigint not null default 0,
      primary key (owner_id, stream)
    ) with (fillfactor = 70)`
  yield* sql`create index outputs_sandbox on outputs (sandbox_id)`

  yield* sql`
    create table output_chunks (
      owner_id text not null,
      stream text not null,
      start_offset bigint not null,
      end_offset bigint not null,
      sandbox_id text not null,
      source text not null,
      at bigint not null,
      seq bigint generated always as identity,
      bytes bytea not null,
      primary key (owner_id, stream, start_offset)
    )`
  yield* sql`alter table output_chunks alter column bytes set storage external`
  yield* sql`create index output_chunks_log on output_chunks (sandbox_id, at, seq)`
})
