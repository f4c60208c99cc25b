/**
 * Places that are bounded over all processes of a cluster: of an account's streams, of connections into a Sandbox.
 *
 * Each process has some in the database, and gives and takes those in its memory, so a statement is sent only when it needs more than it has
 * had lately. What it has not needed for a second it gives back. Its places count for as long as its lease (`ProcessLeases`) is good, so those of
 * one that died are free when its actors are somebody else's. One that was frozen for longer finds that it is known no more, and has
 * what it uses written down again, others' bounds or not: nobody is cut off for that, and nobody gets more.
 *
 * A process alone counts in its memory, and asks nobody.
 */
import { Clock, Context, Deferred, Effect, FiberSet, Latch, Layer, Option, Schema, Semaphore } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Settings } from "../Config.ts"
import { worker } from "../worker/Worker.ts"
import { int4Column, textColumn } from "./Columns.ts"

/** What was not in use between two looks, nor between the two before, is given back. */
const lookEveryMs = 500
/** Who finds none looks again, for longer than another process keeps what it does not use. */
const patienceDefaultMs = 1_800
const againMs = 300
/** So many are had at a time, as a share of all there are. */
const sharesOfAll = 64

export interface Bound {
  /** As "streams acc_…". */
  readonly subject: string
  readonly most: number
}

/** Ends the use of places; more calls do nothing. */
export type Release = () => void

interface Places {
  most: number
  inUse: number
  /** The most in use, or wanted, since the last look, and between the two before. */
  peak: number
  peakBefore: number
  /** Those that this process may give. */
  mine: number
  /** The same as the database has it. */
  stored: number
  /** Asked for, beyond those in use. */
  asked: number
}

/** `id` null: this process is not known, or not any more. */
const Claimed = Schema.Struct({ id: Schema.NullOr(Schema.String), subject: Schema.String, places: Schema.Int })

export class HeldPlaces extends Context.Service<
  HeldPlaces,
  {
    /** A place of each, at once; null where this process has none to give. */
    readonly take: (bounds: ReadonlyArray<Bound>) => Release | null
    /** Has so many of each at hand for `take`, as far as that can be. Null: they are. */
    readonly gather: (bounds: ReadonlyArray<Bound>, many: number) => Effect.Effect<void> | null
    /** A place of each; null: all are in use. */
    readonly enter: (bounds: ReadonlyArray<Bound>) => Effect.Effect<Release | null>
  }
>()("atoll/store/HeldPlaces") {
  /** @param patienceMs How long `gather` looks again. */
  static readonly layerOf = (patienceMs: number) =>
    Layer.effect(
      HeldPlaces,
      Effect.gen(function* () {
        const { clusterPort, clusterHost } = yield* Settings
        const sql = yield* SqlClient.SqlClient
        const isAlone = clusterPort === 0
        /** As `ProcessLeases` has it: one process lives there at a time. */
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

        // Looking at what others have and writing down what is had are one step for a subject, in whichever process.
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
        /** Under a new id nothing is stored yet. */
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

        /** One at a time, for all that was asked for while the one before was under way. */
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
              Effect.catchCause((cause) =>
                Effect.logWarning("Places that are not in use could not be given back", cause)
              ),
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
