/**
 * Which processes live, and which shards of actors each of them owns. A process that renewed its lease too late is removed by another
 * one, and its shards with it; it comes back under a new id, so that a lease which lapsed is never had again.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table cluster_processes (
      id text primary key,
      machine_id int4 generated always as identity,
      address text not null,
      runner text not null,
      leaving boolean not null default false,
      lease_until timestamptz not null
    )`
  yield* sql`
    create table cluster_shards (
      shard_id text primary key,
      process_id text not null references cluster_processes on delete cascade
    )`
})
