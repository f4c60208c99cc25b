/**
 * The permits of all processes of a cluster, in the table `held_places`. A process's permits count while its lease is valid.
 *
 * The table's name, its columns' and the locks' are older than the word permit: processes of two versions may share a database.
 */
import { Effect, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { int4Column, textColumn } from "./Columns.ts"
import type { PermitCount, PermitRequest } from "./HeldPermits.ts"

/** `id` null: this process is not registered (any more). */
const Claimed = Schema.Struct({ id: Schema.NullOr(Schema.String), subject: Schema.String, permits: Schema.Int })

const Request = Schema.Struct({
  subject: Schema.String,
  wanted: Schema.Int,
  inUse: Schema.Int,
  most: Schema.Int
})

const Count = Schema.Struct({ subject: Schema.String, permits: Schema.Int })

/** @param address Of this process: the key of `ProcessLeases`. An address has one process at a time. */
export const permitStatements = Effect.fnUntraced(function* (address: string) {
  const sql = yield* SqlClient.SqlClient

  const lockSubjects = (requests: ReadonlyArray<PermitRequest>) => {
    const subjects = textColumn(requests.map(({ subject }) => subject))
    return sql`
      select pg_advisory_xact_lock(hashtextextended('places ' || subject, 0)) from unnest(${subjects}::text[]) as subject`
  }

  const claimPermits = SqlSchema.findAll({
    Request: Schema.Array(Request),
    Result: Claimed,
    execute: (asked) => {
      const column = (key: "wanted" | "inUse" | "most") => int4Column(asked.map((it) => it[key]))
      const subjects = textColumn(asked.map(({ subject }) => subject))
      return sql`
        with asked as (
          select * from unnest(${subjects}::text[], ${column("wanted")}::int4[], ${column("inUse")}::int4[], ${column("most")}::int4[])
            as asked (subject, wanted, in_use, most)),
        me as (select id from cluster_processes where address = ${address}),
        others as (
          select subject, sum(places) as places from held_places join cluster_processes p on p.id = process_id
          where subject = any(${subjects}::text[]) and p.address <> ${address}
            and not p.leaving and p.lease_until > clock_timestamp()
          group by subject),
        granted as (
          select subject, greatest(in_use, least(wanted, most - coalesce(others.places, 0)))::int4 as places
          from asked left join others using (subject)),
        written as (
          insert into held_places (subject, process_id, places)
          select subject, me.id, places from granted, me where places > 0
          on conflict (subject, process_id) do update set places = excluded.places)
        select (select id from me) as id, subject, places as permits from granted`
    }
  })

  const storePermits = SqlSchema.findOneOption({
    Request: Schema.Array(Count),
    Result: Schema.Struct({ id: Schema.String }),
    execute: (counts) => sql`
      with had as (
        select * from unnest(${textColumn(counts.map(({ subject }) => subject))}::text[], ${int4Column(counts.map(({ permits }) => permits))}::int4[])
          as had (subject, places)),
      me as (select id from cluster_processes where address = ${address}),
      gone as (
        delete from held_places h using had, me where h.process_id = me.id and h.subject = had.subject and had.places = 0),
      kept as (
        insert into held_places (subject, process_id, places) select subject, me.id, places from had, me where places > 0
        on conflict (subject, process_id) do update set places = excluded.places)
      select id from me`
  })

  return {
    /** Counting the others' permits and storing the new ones is one atomic step for a subject, across processes. */
    claim: (requests: ReadonlyArray<PermitRequest>) =>
      Effect.andThen(lockSubjects(requests), claimPermits(requests)).pipe(sql.withTransaction, Effect.orDie),
    /** Returns this process's id; null: it is not registered, and nothing was stored. */
    store: (counts: ReadonlyArray<PermitCount>) =>
      storePermits(counts).pipe(Effect.orDie, Effect.map(Option.match({ onNone: () => null, onSome: ({ id }) => id })))
  }
})

export type PermitStatements = Effect.Success<ReturnType<typeof permitStatements>>
