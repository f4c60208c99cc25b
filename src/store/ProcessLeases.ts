/**
 * The leases by which processes own shards of actors.
 *
 * Liveness is nothing but renewal: a process that is frozen, cut off or dead does not renew, whatever its connections look like. Instants
 * are the database's own, so clocks need not agree; how long a lease is surely still held, its owner knows by its monotonic clock,
 * counted from before it asked.
 */
import { randomBytes } from "node:crypto"
import { PgClient } from "@effect/sql-pg"
import { Clock, Context, Duration, Effect, Fiber, Layer, Option, Schema } from "effect"
import { Reactivity } from "effect/reactivity"
import { type SqlError, SqlSchema } from "effect/sql"
import { Settings } from "../Config.ts"
import { textColumn } from "./Columns.ts"
import { DatabaseServer } from "./DatabaseServer.ts"
import { briefTransactions } from "./sessionParameters.ts"

/** To connect by TLS to a database that is far away takes six of its round trips. */
const connectTimeout = Duration.seconds(3)
/** To renew, to take, to look who lives: where a round trip is long, none of them waits for the others'. */
const connections = 3
/** What waits for a shard that another process is about to give up asks so often. */
const takeEveryMs = 50

const JoiningProcess = Schema.Struct({
  address: Schema.String,
  /** As it described itself when it joined. */
  runner: Schema.String
})

type JoiningProcess = typeof JoiningProcess.Type

const LivingProcess = Schema.Struct({
  ...JoiningProcess.fields,
  id: Schema.String,
  /** Ascends: who joined later has a greater one. */
  machineId: Schema.Int,
  /** Ids of the processes that it reaches, its own if it reaches hosts; null: its version does not try. */
  reached: Schema.NullOr(Schema.Array(Schema.String))
})

export type LivingProcess = typeof LivingProcess.Type

const SeenProcess = Schema.Struct({
  ...LivingProcess.fields,
  /** By the database's clock, in epoch milliseconds. */
  seenAt: Schema.Number
})

export class ProcessLeases extends Context.Service<
  ProcessLeases,
  {
    /** How long a lease is good without renewal. */
    readonly leaseMs: number
    /** Whether this process took that shard and nobody else can own it yet. */
    readonly holds: (shard: string) => boolean
    /** Of a shard that it holds: another number than before, whenever another process could have it in between. */
    readonly tenureOf: (shard: string) => number
    /** Joins, in the place of any predecessor at this address. Returns a number of its own. */
    readonly join: (process: JoiningProcess) => Effect.Effect<number, SqlError.SqlError>
    /** Wants no more shards; keeps those that it has. */
    readonly leave: Effect.Effect<void, SqlError.SqlError>
    /** Of this process, since it joined last; empty before. */
    readonly own: () => string
    /** How far this process's clock was ahead of the database's when it last asked `living`, at least; negative: behind. */
    readonly clockAheadMs: () => number
    /** Says which processes this one reaches, by their ids; returns those whose lease is good and that want shards. */
    readonly living: (reached: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<LivingProcess>, SqlError.SqlError>
    /**
     * Takes what of these nobody holds who lives; waits a moment for what is just being given up. Returns those that are ours. Whoever does not wait
     * for the answer may be given them all the same: what it neither renews nor asks for again within a lease is given back.
     */
    readonly take: (shards: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>, SqlError.SqlError>
    /** Renews the lease. Returns those of these shards that still are ours; all, as long as a database that does not answer cannot have given them away. */
    readonly renew: (shards: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
    readonly release: (shard: string) => Effect.Effect<void, SqlError.SqlError>
    /** All of them; who is leaving is gone with that. */
    readonly releaseAll: Effect.Effect<void, SqlError.SqlError>
  }
>()("atoll/store/ProcessLeases") {
  static readonly layer = Layer.effect(
    ProcessLeases,
    Effect.gen(function* () {
      const { connect } = yield* DatabaseServer
      const { clusterLeaseMs: leaseMs, databaseIdleTransactionMs } = yield* Settings
      // Of its own: no queue of others' queries, however long, costs the lease.
      const sql = yield* PgClient.make({
        ...connect,
        applicationName: "atoll-lease",
        connectTimeout,
        maxConnections: connections,
        idleTimeout: "60 seconds",
        startupParameters: briefTransactions(databaseIdleTransactionMs)
      }).pipe(Effect.provide(Reactivity.layer), Effect.orDie)
      const scope = yield* Effect.scope
      const clock = yield* Clock.Clock
      const interval = `${leaseMs} milliseconds`
      const renewWithinMs = Math.floor(leaseMs / 5)
      const takeWithinMs = Math.floor(leaseMs / 6)

      const insertProcess = SqlSchema.findOne({
        Request: Schema.Struct({ ...JoiningProcess.fields, id: Schema.String }),
        Result: Schema.Struct({ machine_id: Schema.Int }),
        execute: ({ id, address, runner }) => sql`
          with predecessor as (delete from cluster_processes where address = ${address})
          insert into cluster_processes (id, address, runner, reached, lease_until)
          values (${id}, ${address}, ${runner}, '{}', clock_timestamp() + ${interval}::interval)
          returning machine_id`
      })

      const Holding = Schema.Struct({ id: Schema.String, shards: Schema.Array(Schema.String) })

      /**
       * Without a row: the process is not known any more. One that holds none of the shards has a row with null. What it has and does not keep, it
       * was given when it no longer waited for that: nobody else could have it for as long as this process lives.
       */
      const renewProcess = SqlSchema.findAll({
        Request: Schema.Struct({ ...Holding.fields, kept: Schema.Array(Schema.String) }),
        Result: Schema.Struct({ shard_id: Schema.NullOr(Schema.String) }),
        execute: ({ id, shards, kept }) => sql`
          with renewed as (
            update cluster_processes set lease_until = clock_timestamp() + ${interval}::interval where id = ${id} returning id),
          given_back as (
            delete from cluster_shards using renewed
            where process_id = renewed.id and shard_id <> all(${textColumn(kept)}::text[]))
          select shard_id from renewed
          left join cluster_shards on process_id = renewed.id and shard_id = any(${textColumn(shards)}::text[])`
      })

      /**
       * One round trip, however much of it there is to do. Who locks the row of a process that is over its lease has all of its shards to give; one that
       * renews at that moment has locked it first, and is passed over.
       */
      const takeFree = SqlSchema.findAll({
        Request: Holding,
        Result: Schema.Struct({ shard_id: Schema.String }),
        execute: ({ id, shards }) => {
          const wanted = sql`${textColumn(shards)}::text[]`
          return sql`
            with me as (select id from cluster_processes where id = ${id} and not leaving),
            dead as (
              delete from cluster_processes where id in (
                select id from cluster_processes where lease_until < clock_timestamp() and id <> ${id}
                order by id for update skip locked)
              returning id),
            moved as (
              update cluster_shards set process_id = me.id from me
              where shard_id = any(${wanted}) and process_id in (select id from dead) returning shard_id),
            added as (
              insert into cluster_shards (shard_id, process_id)
              select shard, me.id from me, unnest(${wanted}) as shard
              order by shard collate "C" on conflict do nothing returning shard_id)
            select shard_id from moved union all select shard_id from added union all
            select shard_id from cluster_shards where process_id = ${id} and shard_id = any(${wanted})`
        }
      })

      /** One round trip. What is said is seen by the next statement, so its own row is as before. */
      const findLiving = SqlSchema.findAll({
        Request: Schema.Struct({ id: Schema.String, reached: Schema.Array(Schema.String) }),
        Result: SeenProcess,
        execute: ({ id, reached }) => {
          const now = sql`${textColumn(reached)}::text[]`
          return sql`
            with said as (
              update cluster_processes set reached = ${now} where id = ${id} and reached is distinct from ${now})
            select id, machine_id as "machineId", address, runner,
              case when id = ${id} then ${now} else reached end as reached,
              (extract(epoch from clock_timestamp()) * 1000)::float8 as "seenAt"
            from cluster_processes where not leaving and lease_until > clock_timestamp()`
        }
      })

      let id = ""
      /** By `performance.now()`. */
      let heldUntil = 0
      /** By shard: the number of its tenure. */
      let held = new Map<string, number>()
      let tenures = 0
      const isHeld = () => performance.now() < heldUntil
      /** By shard: when it was asked for last, by `performance.now()`. */
      let askedAt = new Map<string, number>()
      /** Asked for so short ago that whoever asked may have it without having said so. */
      const justAsked = () => {
        const before = performance.now() - leaseMs
        askedAt = new Map([...askedAt].filter(([, at]) => at >= before))
        return [...askedAt.keys()]
      }

      let aheadMs = 0
      /** The database looked at its clock at some moment in between: what that leaves open is not counted. */
      const compareClocks = (askedAt: number, answeredAt: number, seenAt: number) => {
        aheadMs = Math.max(0, askedAt - seenAt) + Math.min(0, answeredAt - seenAt)
      }

      const living = Effect.fnUntraced(
        function* (reached: ReadonlyArray<string>) {
          const askedAt = clock.currentTimeMillisUnsafe()
          const seen = yield* findLiving({ id, reached })
          if (seen[0] !== undefined) compareClocks(askedAt, clock.currentTimeMillisUnsafe(), seen[0].seenAt)
          return seen
        },
        Effect.catchTag("SchemaError", Effect.die)
      )

      const join = Effect.fnUntraced(
        function* ({ address, runner }: JoiningProcess) {
          const next = randomBytes(12).toString("hex")
          const asked = performance.now()
          const { machine_id } = yield* insertProcess({ id: next, address, runner })
          id = next
          held = new Map()
          heldUntil = asked + leaseMs
          return machine_id
        },
        Effect.catchTag(["SchemaError", "NoSuchElementError"], Effect.die)
      )

      const renewal = Effect.fnUntraced(function* (shards: ReadonlyArray<string>) {
        const mine = id
        const asked = performance.now()
        const kept = [...shards, ...justAsked()]
        for (const shard of held.keys()) if (!kept.includes(shard)) held.delete(shard)
        const rows = yield* renewProcess({ id: mine, shards, kept })
        if (id !== mine) return []
        // Without a row: another process has removed this one.
        heldUntil = rows.length === 0 ? 0 : asked + leaseMs
        const ours = rows.flatMap(({ shard_id }) => (shard_id === null ? [] : [shard_id]))
        for (const shard of shards) if (!ours.includes(shard)) held.delete(shard)
        return ours
      })

      /** A statement to a server that is silent cannot be waited for, not even for its end: it is left behind. */
      const renew = Effect.fnUntraced(function* (shards: ReadonlyArray<string>) {
        const asking = yield* Effect.forkIn(renewal(shards), scope)
        const exit = yield* Fiber.await(asking).pipe(Effect.timeoutOption(renewWithinMs))
        if (Option.isSome(exit) && exit.value._tag === "Success") return exit.value.value
        asking.interruptUnsafe()
        return isHeld() ? shards.filter((shard) => held.has(shard)) : []
      })

      const takeNow = Effect.fnUntraced(
        function* (shards: ReadonlyArray<string>) {
          for (const shard of shards) askedAt.set(shard, performance.now())
          const mine = id
          const rows = yield* takeFree({ id: mine, shards })
          if (id === mine) for (const { shard_id } of rows) if (!held.has(shard_id)) held.set(shard_id, ++tenures)
          return rows.map(({ shard_id }) => shard_id)
        },
        Effect.catchTag("SchemaError", Effect.die)
      )

      const take = Effect.fnUntraced(function* (shards: ReadonlyArray<string>) {
        const began = performance.now()
        const giveUpAt = began + takeWithinMs
        let taken = yield* takeNow(shards)
        // Whoever asks gives up soon after that: nothing is begun that would not have ended.
        const lookMs = takeEveryMs + performance.now() - began
        while (taken.length < shards.length && performance.now() + lookMs < giveUpAt) {
          yield* Effect.sleep(takeEveryMs)
          taken = yield* takeNow(shards)
        }
        return taken
      })

      return ProcessLeases.of({
        leaseMs,
        holds: (shard) => held.has(shard) && isHeld(),
        tenureOf: (shard) => held.get(shard) ?? 0,
        join,
        leave: Effect.suspend(() => sql`update cluster_processes set leaving = true where id = ${id}`).pipe(
          Effect.asVoid
        ),
        own: () => id,
        clockAheadMs: () => aheadMs,
        living,
        take,
        renew,
        release: (shard) =>
          Effect.suspend(() => {
            held.delete(shard)
            return sql`delete from cluster_shards where process_id = ${id} and shard_id = ${shard}`
          }).pipe(Effect.asVoid),
        releaseAll: Effect.suspend(() => {
          held.clear()
          return sql`
            with gone as (delete from cluster_processes where id = ${id} and leaving)
            delete from cluster_shards where process_id = ${id}`
        }).pipe(Effect.asVoid)
      })
    })
  )
}
