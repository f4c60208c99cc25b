/**
 * The invariants of a fleet's database whenever all is mended: logs fold to their snapshots, reservations match the
 * Sandboxes, bills are right.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { MaintenanceDatabase } from "../../../src/store/Database.ts"
import { fieldOf, generationOf } from "../../../src/store/SnapshotFields.ts"
import { verifyUsage } from "../../../src/wallet/verify/verifyUsage.ts"
import { logFaults } from "../../support/ActorLogs.ts"

const promiseFaults = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const kept = yield* sql<{ readonly id: string; readonly status: string; readonly host_id: string | null }>`
    select coalesce(a.id, p.sandbox_id) as id, coalesce(a.status, 'not there') as status, p.host_id
    from (select id, status from actors where kind = 'sandbox' and status not in ('deleted', 'expired')) a
    full join host_promises p on p.sandbox_id = a.id
    where a.id is null or p.sandbox_id is null`
  // Created while no host had room or answered, and stopped before one had: it has no volume, and no host until it starts.
  const unplaced = yield* sql<{ readonly id: string }>`
    select id from actors
    where kind = 'sandbox' and status in ('stopped', 'failed') and ${sql.literal(fieldOf("actors", "hostId", "text"))} is null
      and ${sql.literal(generationOf("actors"))} = 1`
  const mayBeWithout = new Set(unplaced.map(({ id }) => id))
  const up = yield* sql<{ readonly id: string; readonly status: string }>`
    select a.id, a.status from actors a join host_promises p on p.sandbox_id = a.id
    where p.is_up is distinct from (a.status in ('pending', 'running', 'stopping'))
      and a.status in ('pending', 'running', 'stopped', 'failed')`
  const sums = yield* sql<{ readonly id: string; readonly promised: string; readonly sums: string }>`
    select h.id,
      concat_ws(' ', h.vcpus_promised, h.memory_promised, h.disk_promised) as promised,
      concat_ws(' ',
        coalesce(sum(p.vcpus) filter (where p.is_up), 0),
        coalesce(sum(p.memory_bytes) filter (where p.is_up), 0),
        coalesce(sum(p.disk_bytes), 0)) as sums
    from hosts h left join host_promises p on p.host_id = h.id
    group by h.id`
  return [
    ...kept
      .filter(({ id, host_id }) => host_id !== null || !mayBeWithout.has(id))
      .map(({ id, status, host_id }) => `${id} is ${status}, promised by ${host_id}`),
    ...up.map(({ id, status }) => `${id} is ${status}, and its promise says otherwise`),
    ...sums.filter(({ promised, sums }) => promised !== sums).map((host) => `${host.id} has ${JSON.stringify(host)}`)
  ]
})

const billFaults = Effect.gen(function* () {
  const { differences } = yield* verifyUsage(yield* MaintenanceDatabase, null)
  return differences.map((difference) => `bill: ${JSON.stringify(difference)}`)
})

/** Read at one instant. */
export const bookFaults = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const told = Effect.gen(function* () {
    yield* sql`set transaction isolation level repeatable read`
    return [...(yield* promiseFaults), ...(yield* logFaults)]
  })
  return [...(yield* sql.withTransaction(told)), ...(yield* billFaults)]
})

/** By Sandbox: its host. */
export const hostsOfSandboxes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly sandbox_id: string; readonly host_id: string }>`
    select sandbox_id, host_id from host_promises`
  return new Map(rows.map(({ sandbox_id, host_id }) => [sandbox_id, host_id]))
})

/**
 * For the analysis of a fault: the states of the hosts, the owners of the shards, the open statements and transactions.
 */
export const standing = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const hosts = yield* sql`select id, status, snapshot -> 'context' as context, pending from actors where kind = 'host'`
  const owners = yield* sql`
    select p.address, p.leaving, p.lease_until - clock_timestamp() as left, count(s.shard_id)::int4 as shards
    from cluster_processes p left join cluster_shards s on s.process_id = p.id group by p.id order by p.address`
  const open = yield* sql`
    select pid, application_name as name, state, wait_event, now() - xact_start as since, pg_blocking_pids(pid) as blocked, left(query, 160) as query
    from pg_stat_activity where backend_type = 'client backend' and state <> 'idle' and pid <> pg_backend_pid()`
  return [...hosts, ...owners, ...open].map((row) =>
    JSON.stringify(row, (_, value) => (typeof value === "bigint" ? String(value) : value))
  )
})
