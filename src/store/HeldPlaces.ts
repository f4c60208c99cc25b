/**
 * Semaphores over all processes of a cluster: for an account's streams, for connections into a Sandbox.
 *
 * Each process holds some permits in the database and hands them out from memory, so it sends a statement only when it needs more than it
 * recently had. It returns permits that were unused for a second. Its permits count while its lease (`ProcessLeases`) is valid, so the permits of
 * a dead process are free when other processes take over its actors. A process that was frozen for longer finds itself unregistered, and
 * stores the permits in use again, even beyond the bound: no stream is cut for that, and no new one is admitted.
 *
 * A single process counts in memory, without the database.
 */
import { Clock, Context, Deferred, Effect, FiberSet, Latch, Layer, Option, Schema, Semaphore } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Settings } from "../Config.ts"
import { worker } from "../platform/worker/Worker.ts"
import { int4Column, textColumn } from "./Columns.ts"

/** Permits unused between two checks, and between the two before, are returned. */
const lookEveryMs = 500
/** A caller that finds none retries for longer than another process keeps unused permits. */
const patienceDefaultMs = 1_800
const againMs = 300
/** A process takes at least this share of the bound at a time. */
const sharesOfAll = 64

export interface Bound {
  /** As "streams acc_…". */
  readonly subject: string
  readonly most: number
}

/** Releases the permits; further calls do nothing. */
export type Release = () => void

interface Places {
  most: number
  inUse: number
  /** The most in use, or wanted, since the last check, and between the two before. */
  peak: number
  peakBefore: number
  /** Permits that this process may hand out. */
  mine: number
  /** The same number, as stored in the database. */
  stored: number
  /** Requested beyond those in use. */
  asked: number
}

/** `id` null: this process is not registered (any more). */
const Claimed = Schema.Struct({ id: Schema.NullOr(Schema.String), subject: Schema.String, places: Schema.Int })

export class HeldPlaces extends Context.Service<
  HeldPlaces,
  {
    /** Takes one permit of each bound without waiting; null if this process has none free. */
    readonly take: (bounds: ReadonlyArray<Bound>) => Release | null
    /** Acquires so many permits of each for `take`, as far as possible. Null: this process has them already. */
    readonly gather: (bounds: ReadonlyArray<Bound>, many: number) => Effect.Effect<void> | null
    /** Takes one permit of each, and waits for them; null: all are in use. */
    readonly enter: (bounds: ReadonlyArray<Bound>) => Effect.Effect<Release | null>
  }
>()("atoll/store/HeldPlaces") {
  /** @param patienceMs How long `gather` retries. */
  static readonly layerOf = (patienceMs: number) =>
    Layer.effect(
      HeldPlaces,
      Effect.gen(function* () {
        const { clusterPort, clusterHost } = yield* Settings
        const sql = yield* SqlClient.SqlClient
        const isAlone = clusterPort === 0
        /** The key of `ProcessLeases`: an address has one process at a time. */
        const address = `${clusterHost}:${clusterPort}`
        const known = new Map<string, Places>()
        const some = yield* Latch.make()

        const placesOf = ({ subject, most }: Bound): Places => {
          const found = known.get(subject)
          if (found !== undefined) {
            found.most = most
            return found
          }
          const fresh = { most, inUse: 0, peak: 0, peakBefore: 0, mine: 0, stored: 0, asked: 0 }
          known.set(subject, fresh)
          if (!isAlone) some.openUnsafe()
          return fresh
        }

        const leave = (bound: Bound): void => {
          const places = known.get(bound.subject)!
          places.inUse--
          if (isAlone && places.inUse === 0) known.delete(bound.subject)
        }

        const take = (bounds: ReadonlyArray<Bound>): Release | null => {
          for (const bound of bounds) {
            const { inUse, mine, most } = placesOf(bound)
            if (inUse >= (isAlone ? most : mine)) return null
          }
          for (const bound of bounds) {
            const places = known.get(bound.subject)!
            places.peak = Math.max(places.peak, ++places.inUse)
          }
          let isTaken = true
          return () => {
            if (isTaken) bounds.forEach(leave)
            isTaken = false
          }
        }

        // Counting the others' permits and storing the new ones is one atomic step for a subject, across processes.
        const claimPlaces = SqlSchema.findAll({
          Request: Schema.Array(
            Schema.Struct({ subject: Schema.String, wanted: Schema.Int, inUse: Schema.Int, most: Schema.Int })
          ),
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
            select (select id from me) as id, subject, places from granted`
          }
        })

        const writePlaces = SqlSchema.findOneOption({
          Request: Schema.Array(Schema.Struct({ subject: Schema.String, places: Schema.Int })),
          Result: Schema.Struct({ id: Schema.String }),
          execute: (had) => sql`
          with had as (
            select * from unnest(${textColumn(had.map(({ subject }) => subject))}::text[], ${int4Column(had.map(({ places }) => places))}::int4[])
              as had (subject, places)),
          me as (select id from cluster_processes where address = ${address}),
          gone as (
            delete from held_places h using had, me where h.process_id = me.id and h.subject = had.subject and had.places = 0),
          kept as (
            insert into held_places (subject, process_id, places) select subject, me.id, places from had, me where places > 0
            on conflict (subject, process_id) do update set places = excluded.places)
          select id from me`
        })

        let process: string | null = null
        /** Under a new id the database stores nothing yet. */
        const isNow = (id: string | null) => {
          if (id === process) return
          process = id
          for (const places of known.values()) places.stored = 0
        }

        const writing = Semaphore.makeUnsafe(1)

        const claim = Effect.suspend(() => {
          const asked = [...known]
            .filter(([, { asked }]) => asked > 0)
            .map(([subject, places]) => {
              const { inUse, most, mine, asked } = places
              const share = Math.floor(most / sharesOfAll)
              places.asked = 0
              places.peak = Math.max(places.peak, Math.min(most, inUse + asked))
              return { subject, inUse, most, wanted: Math.max(mine, Math.min(most, inUse + asked + share)) }
            })
            .sort((a, b) => (a.subject < b.subject ? -1 : 1))
          if (asked.length === 0) return Effect.void
          const subjects = textColumn(asked.map(({ subject }) => subject))
          return sql`
          select pg_advisory_xact_lock(hashtextextended('places ' || subject, 0)) from unnest(${subjects}::text[]) as subject`.pipe(
            Effect.andThen(claimPlaces(asked)),
            sql.withTransaction,
            Effect.orDie,
            Effect.map((claimed) => {
              isNow(claimed[0]?.id ?? null)
              for (const { subject, places } of claimed) {
                const had = known.get(subject)!
                had.mine = places
                had.stored = process === null ? 0 : places
              }
            })
          )
        }).pipe(writing.withPermit)

        /** One claim at a time; it serves all requests that arrived during the previous one. */
        const run = yield* FiberSet.makeRuntime()
        let next: Deferred.Deferred<void> | null = null
        let isClaiming = false
        const claimAll: Effect.Effect<void> = Effect.suspend(() => {
          const told = next
          next = null
          isClaiming = told !== null
          if (told === null) return Effect.void
          const one = Effect.onExit(claim, (exit) => Effect.sync(() => void Deferred.doneUnsafe(told, exit)))
          return Effect.andThen(Effect.exit(one), claimAll)
        })
        const claimed = Effect.suspend(() => {
          next ??= Deferred.makeUnsafe()
          const told = next
          if (!isClaiming) {
            isClaiming = true
            run(claimAll)
          }
          return Deferred.await(told)
        })

        const look = Effect.suspend(() => {
          for (const [subject, places] of known) {
            places.mine = Math.min(places.mine, Math.max(places.inUse, places.peak, places.peakBefore))
            places.peakBefore = places.peak
            places.peak = places.inUse
            if (places.mine === 0 && places.stored === 0 && places.asked === 0) known.delete(subject)
          }
          if (known.size === 0) {
            some.closeUnsafe()
            return Effect.void
          }
          const had = [...known]
            .filter(([, { mine, stored }]) => mine !== stored)
            .map(([subject, { mine }]) => ({ subject, places: mine }))
          return Effect.map(Effect.orDie(writePlaces(had)), (me) => {
            isNow(Option.match(me, { onNone: () => null, onSome: ({ id }) => id }))
            if (process !== null) for (const { subject, places } of had) known.get(subject)!.stored = places
          })
        }).pipe(writing.withPermit)

        if (!isAlone) {
          yield* worker(
            "held places",
            some.await.pipe(
              Effect.andThen(Effect.sleep(lookEveryMs)),
              Effect.andThen(look),
              Effect.catchCause((cause) => Effect.logWarning("Could not return unused permits", cause)),
              Effect.forever
            )
          )
        }

        const short = (bounds: ReadonlyArray<Bound>, many: number) =>
          bounds.map(placesOf).filter(({ inUse, mine }) => inUse + many > mine)

        const gather = (bounds: ReadonlyArray<Bound>, many: number): Effect.Effect<void> | null => {
          if (isAlone || short(bounds, many).length === 0) return null
          return Effect.gen(function* () {
            const clock = yield* Clock.Clock
            const began = clock.monotonicTimeNanosUnsafe()
            for (;;) {
              const lacking = short(bounds, many)
              if (lacking.length === 0) return
              for (const places of lacking) places.asked += many
              yield* claimed
              if (short(bounds, many).length === 0) return
              if (clock.monotonicTimeNanosUnsafe() - began > BigInt(patienceMs) * 1_000_000n) return
              yield* Effect.sleep(againMs)
            }
          })
        }

        const enter = (bounds: ReadonlyArray<Bound>): Effect.Effect<Release | null> =>
          Effect.suspend(() => {
            const gathering = gather(bounds, 1)
            if (gathering === null) return Effect.succeed(take(bounds))
            return Effect.map(gathering, () => take(bounds))
          })

        return HeldPlaces.of({ take, gather, enter })
      })
    )

  static readonly layer = HeldPlaces.layerOf(patienceDefaultMs)
}
