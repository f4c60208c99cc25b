/** Statements about one reservation: a row of `host_promises`, and the sums of its host. Each changes both together. */
import { Effect, Option, Schema } from "effect"
import { SqlClient, SqlSchema, type Statement } from "effect/sql"
import { textColumn } from "../store/Columns.ts"
import { fieldOf, generationOf } from "../store/SnapshotFields.ts"
import { removedHostStates } from "./hostStates.ts"

const Raised = Schema.Struct({
  hostId: Schema.String,
  /** vCPUs and memory are reserved, too. */
  isUp: Schema.Boolean,
  /** The Sandbox was up on this host, and stays there. */
  isSettled: Schema.Boolean,
  /** State of the host's actor; null: it has none yet. */
  status: Schema.NullOr(Schema.String)
})
export type Raised = typeof Raised.Type

const raiseStatements = (sql: SqlClient.SqlClient) => {
  const present = sql.literal(
    `p.is_settled as "isSettled", (select a.status from actors a where a.id = p.host_id and a.kind = 'host') as status`
  )

  const raiseReservation = SqlSchema.findOneOption({
    Request: Schema.String,
    Result: Raised,
    execute: (sandboxId) => sql`
      with down as (
        select host_id, vcpus, memory_bytes from host_promises where sandbox_id = ${sandboxId} and not is_up
        for no key update),
      taken as (
        update hosts h set vcpus_promised = h.vcpus_promised + d.vcpus, memory_promised = h.memory_promised + d.memory_bytes
        from down d
        where h.id = d.host_id and h.vcpus_promised + d.vcpus <= h.vcpus and h.memory_promised + d.memory_bytes <= h.memory_bytes
        returning h.id),
      raised as (update host_promises p set is_up = true from taken t where p.sandbox_id = ${sandboxId})
      select host_id as "hostId", is_up or exists (select 1 from taken) as "isUp", ${present} from host_promises p where sandbox_id = ${sandboxId}`
  })

  const findReservation = SqlSchema.findOneOption({
    Request: Schema.String,
    Result: Raised,
    execute: (sandboxId) => sql`
      select host_id as "hostId", is_up as "isUp", ${present} from host_promises p where sandbox_id = ${sandboxId}`
  })

  return { raiseReservation, findReservation }
}

const hostStatements = (sql: SqlClient.SqlClient) => {
  const findIsRemoved = SqlSchema.findOneOption({
    Request: Schema.String,
    Result: Schema.Struct({ isRemoved: Schema.Boolean }),
    execute: (hostId) => sql`
      select status = any(${textColumn(removedHostStates)}::text[]) as "isRemoved" from actors where id = ${hostId} and kind = 'host'`
  })

  return {
    isRemovedHost: (hostId: string) =>
      Effect.map(Effect.orDie(findIsRemoved(hostId)), (found) => Option.getOrNull(found)?.isRemoved === true)
  }
}

/** Reserves other sizes. False: the host has no room for what is more; what is less is always taken. A Sandbox without a host gets them with its host. */
const resizeReservation = (sql: SqlClient.SqlClient) => {
  const resize = (sandboxId: string, vcpus: number, memoryBytes: bigint, diskBytes: bigint) => sql`
    with held as (
      select host_id, case when is_up then ${vcpus}::int4 - vcpus else 0 end as vcpus,
        case when is_up then ${memoryBytes}::int8 - memory_bytes else 0 end as memory, ${diskBytes}::int8 - disk_bytes as disk
      from host_promises where sandbox_id = ${sandboxId} for no key update),
    taken as (
      update hosts h set vcpus_promised = h.vcpus_promised + d.vcpus, memory_promised = h.memory_promised + d.memory,
        disk_promised = h.disk_promised + d.disk
      from held d
      where h.id = d.host_id and (d.vcpus <= 0 or h.vcpus_promised + d.vcpus <= h.vcpus)
        and (d.memory <= 0 or h.memory_promised + d.memory <= h.memory_bytes)
        and (d.disk <= 0 or h.disk_promised + d.disk <= h.disk_bytes)
      returning h.id),
    resized as (
      update host_promises p set vcpus = ${vcpus}::int4, memory_bytes = ${memoryBytes}::int8, disk_bytes = ${diskBytes}::int8
      from taken where p.sandbox_id = ${sandboxId})
    select 1 from held where not exists (select 1 from taken)`

  return (
    sandboxId: string,
    { vcpus, memoryBytes, diskBytes }: { vcpus: number; memoryBytes: number; diskBytes: number }
  ): Effect.Effect<boolean> =>
    Effect.map(
      Effect.orDie(resize(sandboxId, Math.ceil(vcpus), BigInt(memoryBytes), BigInt(diskBytes))),
      (refused) => refused.length === 0
    )
}

export const reservationStatements = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { raiseReservation, findReservation } = raiseStatements(sql)

  const findHost = SqlSchema.findOneOption({
    Request: Schema.String,
    Result: Schema.Struct({ host_id: Schema.String, is_settled: Schema.Boolean }),
    execute: (sandboxId) => sql`select host_id, is_settled from host_promises where sandbox_id = ${sandboxId}`
  })

  /** Deletes one reservation and returns its resources to the host. */
  const giveBack = (which: Statement.Fragment) => sql<{ readonly refusedBy: ReadonlyArray<string> }>`
        with released as (
          delete from host_promises where ${which}
          returning host_id, disk_bytes, refused_by, case when is_up then vcpus else 0 end as vcpus,
            case when is_up then memory_bytes else 0 end as memory_bytes)
        update hosts h set vcpus_promised = h.vcpus_promised - r.vcpus, memory_promised = h.memory_promised - r.memory_bytes,
          disk_promised = h.disk_promised - r.disk_bytes
        from released r where h.id = r.host_id
        returning r.refused_by as "refusedBy"`

  const findKind = SqlSchema.findOne({
    Request: Schema.String,
    Result: Schema.Struct({ kind: Schema.Literals(["vm", "namespace"]) }),
    execute: (sandboxId) =>
      sql`select ${sql.literal(fieldOf("actors", "runtime", "text"))} as kind from actors where id = ${sandboxId}`
  })

  const settle = (sandboxId: string, hostId: string) =>
    // Not flushed separately: the commit that says it runs comes later, and flushes all earlier writes.
    sql`
      with unflushed as (select set_config('synchronous_commit', 'off', true))
      update host_promises set is_settled = true from unflushed where sandbox_id = ${sandboxId} and host_id = ${hostId} returning 1`

  const lower = (sandboxId: string, generation: number) => sql`
    with lowered as (
      update host_promises p set is_up = false
      where p.sandbox_id = ${sandboxId} and p.is_up and not exists (
        select 1 from actors a
        where a.id = p.sandbox_id and ${sql.literal(generationOf("a"))} > ${generation}::int4)
      returning host_id, vcpus, memory_bytes)
    update hosts h set vcpus_promised = h.vcpus_promised - l.vcpus, memory_promised = h.memory_promised - l.memory_bytes
    from lowered l where h.id = l.host_id`

  return {
    resize: resizeReservation(sql),
    /** Null: the Sandbox has no host. */
    findHost: (sandboxId: string) => Effect.map(Effect.orDie(findHost(sandboxId)), Option.getOrNull),
    /** Reserves vCPUs and memory, if the host has them. Null: the Sandbox has no host. */
    raise: (sandboxId: string) =>
      raiseReservation(sandboxId).pipe(
        // Another call raised it while this statement waited; the statement sees the older row.
        Effect.flatMap((raised) =>
          Option.isSome(raised) && !raised.value.isUp ? findReservation(sandboxId) : Effect.succeed(raised)
        ),
        Effect.orDie,
        Effect.map(Option.getOrNull)
      ),
    /** False: the Sandbox has another host. */
    settle: (sandboxId: string, hostId: string) =>
      Effect.map(Effect.orDie(settle(sandboxId, hostId)), (rows) => rows.length > 0),
    lower: (sandboxId: string, generation: number) => Effect.asVoid(Effect.orDie(lower(sandboxId, generation))),
    release: (sandboxId: string) => Effect.asVoid(Effect.orDie(giveBack(sql`sandbox_id = ${sandboxId}`))),
    /** Deletes an unsettled reservation on that host; undefined: there is none. */
    leave: (sandboxId: string, hostId: string) =>
      Effect.map(giveBack(sql`sandbox_id = ${sandboxId} and host_id = ${hostId} and not is_settled`), ([left]) => left),
    ...hostStatements(sql),
    kindOf: (sandboxId: string) => Effect.map(Effect.orDie(findKind(sandboxId)), ({ kind }) => kind)
  }
})
