/**
 * What the runtime measured of each Sandbox (one row a sampling instant), requests counted against a rate limit, and the
 * indexes by which logs are read and pruned.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table telemetry_samples (
      sandbox_id text not null,
      generation integer not null,
      at bigint not null,
      cpu_seconds double precision,
      memory_bytes bigint,
      volume_bytes bigint,
      network_rx_bytes bigint,
      network_tx_bytes bigint,
      primary key (sandbox_id, at)
    )`
  yield* sql`create index telemetry_samples_age on telemetry_samples using brin (at)`

  yield* sql`
    create table rate_windows (
      account_id text not null,
      kind text not null,
      window_start bigint not null,
      requests integer not null,
      primary key (account_id, kind)
    )`

  // One index serves every filter: a query merges the newest of each (source, stream) pair that it wants.
  yield* sql`drop index output_chunks_log`
  yield* sql`create index output_chunks_log on output_chunks (sandbox_id, source, stream, at, seq)`
  yield* sql`create index output_chunks_age on output_chunks using brin (at) with (pages_per_range = 32)`
})
