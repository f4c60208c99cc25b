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
  /** It has booted: there is a volume. */
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
    /** All that are not removed. */
    bound: Effect.suspend(() => findBound()),
    /** Those of these ids that there are, wherever they live. */
    known: findKnown,
    /** Those that have a runtime or are to have one, by their ids. */
    unsettled: (after: string, limit: number) => findUnsettled({ after, limit }),
    /** Null: not there. One that is not settled may go elsewhere. */
    resident: (sandboxId: string) => Effect.map(findOwn(sandboxId), Option.getOrNull),

    /**
     * What had a volume, and has nothing on its host any more, is marked, and what is found again is not any longer.
     *
     * @param stopped Those that were known to have one before it was looked what there is.
     */
    noteMissing: (stopped: ReadonlyArray<string>, here: ReadonlyArray<string>) => sql`
      update host_promises set is_missing = not (sandbox_id = any(${textColumn(here)}::text[]))
      where host_id = ${hostId} and sandbox_id = any(${textColumn(stopped)}::text[])
        and is_missing = (sandbox_id = any(${textColumn(here)}::text[]))
      returning sandbox_id as id, is_missing as "isMissing"`,

    /** Promises of what is removed go, what does not run is promised its disk alone, and the host's sums are those of its promises. */
    healPromises: sql
      .withTransaction(
        Effect.gen(function* () {
          // Whoever makes a promise changes this row: it waits, or what it did is seen below.
          yield* sql`select 1 from hosts where id = ${hostId} for no key update`
          // Others take a promise first and its host then: what one of them holds is left to it.
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
