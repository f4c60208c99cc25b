/**
 * The hosts of a fleet, as they describe themselves, and what of each is promised to Sandboxes. How a host stands is its actor's state
 * (`actors`, kind `host`, the same id). The promised sums are those of the promises, and change with them in one statement.
 *
 * `boot`: empty once its process has left. `seen_at`: of its last beat; `heard_at`: until when its machines were listened to. `asked`: an event that the
 * operator wants told to its actor. `is_missing`: the Sandbox had a volume, and that is not on its host any more.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table hosts (
      id text primary key,
      label text not null,
      address_host text not null,
      address_port integer not null,
      boot text not null,
      version text not null,
      driver text not null,
      kind text not null,
      vcpus integer not null,
      memory_bytes bigint not null,
      disk_bytes bigint not null,
      parallel_starts integer not null,
      suspends boolean not null,
      network_filtered boolean not null,
      network_refused text,
      vcpus_promised integer not null default 0,
      memory_promised bigint not null default 0,
      disk_promised bigint not null default 0,
      joined_at bigint not null,
      seen_at bigint not null,
      heard_at bigint,
      asked text,
      asked_token text
    ) with (fillfactor = 50)`
  yield* sql`
    create table host_promises (
      sandbox_id text primary key,
      host_id text not null references hosts (id),
      vcpus integer not null,
      memory_bytes bigint not null,
      disk_bytes bigint not null,
      is_up boolean not null,
      is_missing boolean not null default false
    )`
  yield* sql`create index host_promises_host on host_promises (host_id)`
})
