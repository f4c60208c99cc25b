/**
 * Converts a single host to a fleet, and back. The Sandboxes of an Atoll that carries them itself are in its data folder. A service of a fleet
 * first reserves them on a host of that folder's id; the host joins when it is started with that folder. Both run in the caller's transaction.
 */
import { Effect, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { textColumn } from "./Columns.ts"
import { DatabaseUnusable } from "./Database.ts"

/** Groups of a Sandbox's states. */
export interface FleetStates {
  /** The Sandbox has something on a host. */
  readonly counted: ReadonlyArray<string>
  /** Of those: nothing runs there, or is about to. */
  readonly runtimeless: ReadonlyArray<string>
}

/** Does nothing if the database is a fleet already. */
export const beginFleet = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { counted, runtimeless }: FleetStates
) {
  const find = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ is_fleet: Schema.Boolean, host_id: Schema.NullOr(Schema.String) }),
    // Another process that starts concurrently waits for this row.
    execute: () => sql`select is_fleet, host_id from installation for update`
  })
  const { is_fleet: isFleet, host_id: hostId } = yield* find()
  if (isFleet) return
  yield* sql`update installation set is_fleet = true`
  if (hostId === null) return
  // The host has never joined: its resources are unknown, and no new Sandbox is placed there.
  yield* sql`
    insert into hosts (id, label, address_host, address_port, boot, version, driver, kind, vcpus, memory_bytes, disk_bytes, parallel_starts,
      suspends, network_filtered, network_refused, joined_at, seen_at, heard_at)
    select host_id, coalesce(host_label, host_id), '', 0, '', '', coalesce(driver, 'namespace'),
      case driver when 'qemu' then 'vm' else 'namespace' end, 0, 0, 0, 0, false, false, null, 0, coalesce((select max(at) from heartbeat), 0),
      (select nullif(max(at), 0) from heartbeat)
    from installation
    on conflict do nothing`
  yield* sql`
    with promised as (
      insert into host_promises (sandbox_id, host_id, vcpus, memory_bytes, disk_bytes, is_up)
      select id, ${hostId}, ceil((profile ->> 'vcpus')::numeric)::int4, (profile ->> 'memoryBytes')::int8, (profile ->> 'diskBytes')::int8,
        status <> all(${textColumn(runtimeless)}::text[])
      from (
        select id, status, snapshot -> 'context' -> 'profile' as profile from actors
        where kind = 'sandbox' and status = any(${textColumn(counted)}::text[])) s
      on conflict do nothing
      returning vcpus, memory_bytes, disk_bytes, is_up)
    update hosts h set vcpus_promised = h.vcpus_promised + s.vcpus, memory_promised = h.memory_promised + s.memory_bytes,
      disk_promised = h.disk_promised + s.disk_bytes
    from (
      select coalesce(sum(vcpus) filter (where is_up), 0)::int4 as vcpus, coalesce(sum(memory_bytes) filter (where is_up), 0)::int8 as memory_bytes,
        coalesce(sum(disk_bytes), 0)::int8 as disk_bytes
      from promised) s
    where h.id = ${hostId}`
})

/** Ends the fleet if all its Sandboxes live in this data folder. With Sandboxes elsewhere it stays a fleet, and the start ends with an error. */
export const endFleet = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, hostId: string) {
  const find = SqlSchema.findOne({
    Request: Schema.String,
    Result: Schema.Struct({ sandboxes: Schema.Int, hosts: Schema.NullOr(Schema.String) }),
    execute: (here) => sql`
      select count(*)::int4 as sandboxes, string_agg(distinct h.label, ', ') as hosts
      from host_promises p join hosts h on h.id = p.host_id where p.host_id <> ${here}`
  })
  const { sandboxes, hosts } = yield* find(hostId)
  if (sandboxes > 0) {
    return yield* new DatabaseUnusable({
      message: `${sandboxes} Sandboxes of this database live on hosts of a fleet (${hosts}), which ATOLL_ROLE=all does not reach. Start it with ATOLL_ROLE=service; or delete them there first.`
    })
  }
  yield* sql`update installation set is_fleet = false`
  yield* sql`delete from host_promises`
  yield* sql`delete from host_images`
  yield* sql`delete from image_uploads`
  yield* sql`delete from hosts`
  yield* sql`delete from transitions where actor_id in (select id from actors where kind = 'host')`
  yield* sql`delete from actors where kind = 'host'`
})
