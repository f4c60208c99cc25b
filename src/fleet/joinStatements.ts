/** Statements about hosts that join, beat and leave. The database's clock dates them. */
import { Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import type { HostDescription } from "../runtime/distant/HostDescription.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { databaseNow } from "./databaseNow.ts"
import { removedHostStates } from "./hostStates.ts"

const KnownHost = Schema.Struct({
  boot: Schema.String,
  driver: Schema.String,
  keyDigest: Schema.NullOr(Schema.Uint8Array),
  silentForMs: Int8,
  state: Schema.NullOr(Schema.String),
  sandboxes: Schema.Int
})

export type KnownHost = typeof KnownHost.Type

export const joinStatements = (sql: SqlClient.SqlClient) => {
  const now = databaseNow(sql)

  const findInstallation = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ id: Schema.String }),
    execute: () => sql`select id from installation`
  })

  const findHost = SqlSchema.findOneOption({
    Request: Schema.String,
    Result: KnownHost,
    execute: (hostId) => sql`
      select h.boot, h.driver, h.key_digest as "keyDigest", ${now} - h.seen_at as "silentForMs", a.status as state,
        (select count(*)::int4 from host_promises p where p.host_id = h.id) as sandboxes
      from hosts h left join actors a on a.id = h.id and a.kind = 'host'
      where h.id = ${hostId} for update of h`
  })

  const findNamesake = SqlSchema.findOneOption({
    Request: Schema.Struct({ name: Schema.String, hostId: Schema.String }),
    Result: Schema.Struct({ id: Schema.String, label: Schema.String }),
    execute: ({ name, hostId }) => sql`
      select h.id, h.label from hosts h
      where h.cert_name = ${name} and h.id <> ${hostId}
        and not exists (select 1 from actors a where a.id = h.id and a.kind = 'host' and a.status = any(${textColumn(removedHostStates)}::text[]))
      limit 1`
  })

  const insert = (it: HostDescription, digest: Uint8Array | null, name: string | null) => sql`
    insert into hosts (id, key_digest, cert_name, label, address_host, address_port, boot, version, driver, kind, vcpus, memory_bytes, disk_bytes, parallel_starts,
      suspends, runs_images, builds_images, network_filtered, network_refused, joined_at, seen_at)
    values (${it.hostId}, ${digest}, ${name}, ${it.label}, ${it.address.host}, ${it.address.port}, ${it.boot}, ${it.version}, ${it.driver}, ${it.kind},
      ${it.capacity.vcpus}, ${BigInt(it.capacity.memoryBytes)}, ${BigInt(it.capacity.diskBytes)}, ${it.capacity.parallelStarts},
      ${it.suspends}, ${it.runsImages === true}, ${it.buildsImages === true}, ${it.networkFiltered}, ${it.networkRefused}, ${now}, ${now})
    on conflict (id) do update set key_digest = excluded.key_digest, cert_name = excluded.cert_name, label = excluded.label, address_host = excluded.address_host, address_port = excluded.address_port,
      boot = excluded.boot, version = excluded.version, driver = excluded.driver, kind = excluded.kind, vcpus = excluded.vcpus,
      memory_bytes = excluded.memory_bytes, disk_bytes = excluded.disk_bytes, parallel_starts = excluded.parallel_starts,
      suspends = excluded.suspends, runs_images = excluded.runs_images, builds_images = excluded.builds_images,
      network_filtered = excluded.network_filtered, network_refused = excluded.network_refused,
      joined_at = coalesce(nullif(hosts.joined_at, 0), excluded.joined_at), seen_at = excluded.seen_at`

  return { findInstallation, findHost, findNamesake, insert }
}

export const beatStatements = (sql: SqlClient.SqlClient) => {
  const now = databaseNow(sql)

  const findBeaten = SqlSchema.findOneOption({
    Request: Schema.Struct({
      hostId: Schema.String,
      boot: Schema.String,
      vcpus: Schema.Int,
      memoryBytes: Schema.BigInt,
      diskBytes: Schema.BigInt,
      parallelStarts: Schema.Int,
      networkRefused: Schema.NullOr(Schema.String)
    }),
    Result: Schema.Struct({ state: Schema.NullOr(Schema.String) }),
    execute: (it) => sql`
      update hosts h set vcpus = ${it.vcpus}, memory_bytes = ${it.memoryBytes}, disk_bytes = ${it.diskBytes},
        parallel_starts = ${it.parallelStarts}, network_refused = ${it.networkRefused}, seen_at = ${now}
      where id = ${it.hostId} and boot = ${it.boot}
      returning (select status from actors a where a.id = h.id and a.kind = 'host') as state`
  })

  const markLeft = (hostId: string, boot: string) =>
    sql`update hosts set boot = '' where id = ${hostId} and boot = ${boot} returning 1`

  return { findBeaten, markLeft }
}
