/**
 * The leases by which processes own shards of actors.
 *
 * Only renewal proves that a process lives: a frozen, cut off or dead process does not renew, even if its connections are open. The
 * database's clock decides, so clocks need not agree. The owner knows how long it surely holds its lease by its monotonic clock,
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

/** A TLS connection to a distant database takes six round trips. */
const connectTimeout = Duration.seconds(3)
/** For renewing, taking and listing: with long round trips, none of them waits for the others. */
const connections = 3
/** Retry interval for a shard that another process is about to release. */
const takeEveryMs = 50

const JoiningProcess = Schema.Struct({
  address: Schema.String,
  /** Its description of itself when it joined. */
  runner: Schema.String
})

type JoiningProcess = typeof JoiningProcess.Type

const LivingProcess = Schema.Struct({
  ...JoiningProcess.fields,
  id: Schema.String,
  /** Ascending: a process that joined later has a greater id. */
  machineId: Schema.Int,
  /** Ids of the processes that it reaches, including its own if it reaches hosts; null: its version does not report them. */
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
    /** How long a lease is valid without renewal. */
    readonly leaseMs: number
    /** Whether this process holds that shard and no other process can own it yet. */
    readonly holds: (shard: string) => boolean
    /** Epoch of a held shard: a new number whenever another process could have held the shard in between. */
    readonly epochOf: (shard: string) => number
    /** Joins, and replaces any predecessor at this address. Returns this process's machine id. */
    readonly join: (process: JoiningProcess) => Effect.Effect<number, SqlError.SqlError>
    /** Asks for no more shards; keeps the present ones. */
    readonly leave: Effect.Effect<void, SqlError.SqlError>
    /** The id of this process since it last joined; empty before. */
    readonly own: () => string
    /** At least how far this process's clock was ahead of the database's at the last call of `living`, in ms; negative: behind. */
    readonly clockAheadMs: () => number
    /** Reports the ids of the processes that this one reaches. Returns the processes with a valid lease that want shards. */
    readonly living: (reached: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<LivingProcess>, SqlError.SqlError>
    /**
     * Acquires the shards that no live process holds; waits briefly for shards that are being released. Returns those that this process holds.
     * A caller that does not wait for the answer may still acquire them. Shards that it neither renews nor asks for again within a lease are released.
     */
    readonly take: (shards: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>, SqlError.SqlError>
    /** Renews the lease. Returns which of these shards are still ours: all of them while an unresponsive database cannot have given them away. */
    readonly renew: (shards: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
    readonly release: (shard: string) => Effect.Effect<void, SqlError.SqlError>
    /** Releases all shards, and leaves the cluster if `leave` was called. */
    readonly releaseAll: Effect.Effect<void, SqlError.SqlError>
  }
>()("atoll/store/ProcessLeases") {
  static readonly layer = Layer.effect(
    ProcessLeases,
    Effect.gen(function* () {
      const { connect } = yield* DatabaseServer
      const { clusterLeaseMs: leaseMs, databaseIdleTransactionMs } = yield* Settings
      // A separate pool: no queue of queries, however long, costs the lease.
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
       * No row: the process is not registered any more. A process without any of the shards has one row with null. Deletes shards that
       * this process was given after it had stopped waiting for them: no other process could have them while this one lives.
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
       * One round trip for any number of shards. The statement locks the row of an expired process and may take all its shards. A process that
       * renews at that moment has locked its row first, and is skipped.
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

      /** One round trip. A statement does not see its own writes, so this process's row is the previous one. */
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
      /** The epoch of each held shard. */
      let held = new Map<string, number>()
      let epochs = 0
      const isHeld = () => performance.now() < heldUntil
      /** By shard: when it was asked for last, by `performance.now()`. */
      let askedAt = new Map<string, number>()
      /** Shards requested so recently that the caller may hold them without having said so. */
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
        // No row: another process has removed this one.
        heldUntil = rows.length === 0 ? 0 : asked + leaseMs
        const ours = rows.flatMap(({ shard_id }) => (shard_id === null ? [] : [shard_id]))
        for (const shard of shards) if (!ours.includes(shard)) held.delete(shard)
        return ours
      })

      /** A statement to a silent server cannot be awaited, not even its interruption: it is abandoned. */
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
          if (id === mine) for (const { shard_id } of rows) if (!held.has(shard_id)) held.set(shard_id, ++epochs)
          return rows.map(({ shard_id }) => shard_id)
        },
        Effect.catchTag("SchemaError", Effect.die)
      )

      const take = Effect.fnUntraced(function* (shards: ReadonlyArray<string>) {
        const began = performance.now()
        const giveUpAt = began + takeWithinMs
        let taken = yield* takeNow(shards)
        // The caller gives up soon after: a step that could not end in time is not begun.
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
        epochOf: (shard) => held.get(shard) ?? 0,
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
