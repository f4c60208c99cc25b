/** The Sandboxes of one host, by their promises. */

import { Effect, Option, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { bookkeeping } from "../../machines/sandbox.ts"
import { removedStates, runtimelessStates, volumelessStates } from "../sandbox/sandboxStates.ts"
import { unsettledStates } from "../sandbox/settleSandboxes.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { fieldOf, generationOf, hasPendingBut } from "../store/SnapshotFields.ts"

const Bound = Schema.Struct({
  id: Schema.String,
  status: Schema.String,
  generation: Schema.Int,
  revision: Int8,
  isBusy: Schema.Boolean,
  /** It has booted, so it has a volume. */
  hasRun: Schema.Boolean
})

const Known = Schema.Struct({
  id: Schema.String,
  status: Schema.String,
  revision: Int8,
  isBusy: Schema.Boolean,
  isElsewhere: Schema.Boolean,
  wasRefused: Schema.Boolean
})

const Unsettled = Schema.Struct({ id: Schema.String, generation: Schema.Int, revision: Int8 })

/** What a deletion waits for is no runtime. */
const upStates = unsettledStates.filter((state) => !volumelessStates.includes(state))

export const hostSandboxes = (sql: SqlClient.SqlClient, hostId: string) => {
  const isBusy = sql.literal(hasPendingBut("a", bookkeeping))
  const findBound = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Bound,
    execute: () => sql`
      select a.id, a.status, a.revision, ${sql.literal(generationOf("a"))} as generation, ${isBusy} as "isBusy",
        ${sql.literal(fieldOf("a", "startedAt", "text"))} is not null as "hasRun"
      from host_promises p join actors a on a.id = p.sandbox_id
      where p.host_id = ${hostId} and a.kind = 'sandbox' and a.status <> all(${textColumn(removedStates)}::text[])`
  })
  const findKnown = SqlSchema.findAll({
    Request: Schema.Array(Schema.String),
    Result: Known,
    execute: (ids) => sql`
      select a.id, a.status, a.revision, ${isBusy} as "isBusy",
        a.status <> all(${textColumn(removedStates)}::text[]) and p.host_id is distinct from ${hostId} as "isElsewhere",
        coalesce(${hostId} = any(p.refused_by), false) as "wasRefused"
      from actors a left join host_promises p on p.sandbox_id = a.id
      where a.id = any(${textColumn(ids)}::text[]) and a.kind = 'sandbox'`
  })
  const findUnsettled = SqlSchema.findAll({
    Request: Schema.Struct({ after: Schema.String, limit: Schema.Int }),
    Result: Unsettled,
    execute: ({ after, limit }) => sql`
      select a.id, a.revision, ${sql.literal(generationOf("a"))} as generation
      from host_promises p join actors a on a.id = p.sandbox_id
      where p.host_id = ${hostId} and a.id > ${after} and a.kind = 'sandbox' and a.status = any(${textColumn(upStates)}::text[])
      order by a.id limit ${limit}`
  })
  const findOwn = SqlSchema.findOneOption({
    Request: Schema.String,
    Result: Schema.Struct({ isSettled: Schema.Boolean }),
    execute: (sandboxId) => sql`
      select is_settled as "isSettled" from host_promises where sandbox_id = ${sandboxId} and host_id = ${hostId}`
  })
  return {
    /** All Sandboxes of the host that are not removed. */
    bound: Effect.suspend(() => findBound()),
    /** The existing Sandboxes among these ids, on any host. */
    known: findKnown,
    /** Sandboxes that have, or will get, a runtime, by id. */
    unsettled: (after: string, limit: number) => findUnsettled({ after, limit }),
    /** Null: not on this host. An unsettled Sandbox may still move. */
    resident: (sandboxId: string) => Effect.map(findOwn(sandboxId), Option.getOrNull),

    /**
     * Marks Sandboxes whose volume is missing on the host, and unmarks those found again.
     *
     * @param stopped Stopped Sandboxes with a volume, read before the host's inventory.
     */
    noteMissing: (stopped: ReadonlyArray<string>, here: ReadonlyArray<string>) => sql`
      update host_promises set is_missing = not (sandbox_id = any(${textColumn(here)}::text[]))
      where host_id = ${hostId} and sandbox_id = any(${textColumn(stopped)}::text[])
        and is_missing = (sandbox_id = any(${textColumn(here)}::text[]))
      returning sandbox_id as id, is_missing as "isMissing"`,

    /** Repairs reservations: deletes those of removed Sandboxes, reduces those of stopped ones to their disk, and recomputes the host's sums. */
    repairReservations: sql
      .withTransaction(
        Effect.gen(function* () {
          // Every reservation changes this row: a concurrent one waits, or is visible below.
          yield* sql`select 1 from hosts where id = ${hostId} for no key update`
          // Others lock a reservation first and then its host: reservations locked by others are skipped.
          yield* sql`
            delete from host_promises where sandbox_id in (
              select p.sandbox_id from host_promises p
              where p.host_id = ${hostId}
                and not exists (select 1 from actors a where a.id = p.sandbox_id and a.status <> all(${textColumn(removedStates)}::text[]))
              for update skip locked)`
          yield* sql`
            update host_promises set is_up = false where sandbox_id in (
              select p.sandbox_id from host_promises p join actors a on a.id = p.sandbox_id
              where p.host_id = ${hostId} and p.is_up and a.status = any(${textColumn(runtimelessStates)}::text[]) and a.pending = '[]'::jsonb
              for update of p skip locked)`
          yield* sql`
            update hosts h set vcpus_promised = s.vcpus, memory_promised = s.memory, disk_promised = s.disk
            from (
              select coalesce(sum(vcpus) filter (where is_up), 0)::int4 as vcpus,
                coalesce(sum(memory_bytes) filter (where is_up), 0)::int8 as memory, coalesce(sum(disk_bytes), 0)::int8 as disk
              from host_promises where host_id = ${hostId}) as s
            where h.id = ${hostId} and (h.vcpus_promised, h.memory_promised, h.disk_promised) is distinct from (s.vcpus, s.memory, s.disk)`
        })
      )
      .pipe(Effect.asVoid)
  }
}

export type HostSandboxes = ReturnType<typeof hostSandboxes>
