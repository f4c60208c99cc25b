/**
 * The leases by which processes own shards of actors.
 *
 * Only renewal proves that a process lives: a frozen, cut off or dead process does not renew, even if its connections are open. The
 * database's clock decides, so clocks need not agree. The owner knows how long it surely holds its lease by its monotonic clock,
 * counted from before it asked.
 */
import { randomBytes } from "node:crypto"
import { PgClient } from "@effect/sql-pg"
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlError } from "effect/sql"
import { Settings } from "../Config.ts"
import { DatabaseServer } from "./DatabaseServer.ts"
import { HeldShards } from "./HeldShards.ts"
import { type JoiningProcess, type LivingProcess, leaseStatements } from "./leaseStatements.ts"
import { briefTransactions } from "./sessionParameters.ts"
import { shardLeasing } from "./shardLeasing.ts"

/** A TLS connection to a distant database takes six round trips. */
const connectTimeout = Duration.seconds(3)
/** For renewing, taking and listing: with long round trips, none of them waits for the others. */
const connections = 3

/** A separate pool: no queue of queries, however long, costs the lease. */
const leaseConnections = Effect.gen(function* () {
  const { connect } = yield* DatabaseServer
  const { databaseIdleTransactionMs } = yield* Settings
  return yield* PgClient.make({
    ...connect,
    applicationName: "atoll-lease",
    connectTimeout,
    maxConnections: connections,
    idleTimeout: "60 seconds",
    startupParameters: briefTransactions(databaseIdleTransactionMs)
  }).pipe(Effect.provide(Reactivity.layer), Effect.orDie)
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
      const { clusterLeaseMs: leaseMs } = yield* Settings
      const sql = yield* leaseConnections
      const clock = yield* Clock.Clock
      const statements = leaseStatements(sql, leaseMs)
      const held = new HeldShards(leaseMs)
      let id = ""
      const { renew, take } = yield* shardLeasing(statements, held, leaseMs, () => id)

      let aheadMs = 0
      /** The database looked at its clock at some moment in between: what that leaves open is not counted. */
      const compareClocks = (askedAt: number, answeredAt: number, seenAt: number) => {
        aheadMs = Math.max(0, askedAt - seenAt) + Math.min(0, answeredAt - seenAt)
      }

      const living = Effect.fnUntraced(
        function* (reached: ReadonlyArray<string>) {
          const askedAt = clock.currentTimeMillisUnsafe()
          const seen = yield* statements.findLiving({ id, reached })
          if (seen[0] !== undefined) compareClocks(askedAt, clock.currentTimeMillisUnsafe(), seen[0].seenAt)
          return seen
        },
        Effect.catchTag("SchemaError", Effect.die)
      )

      const join = Effect.fnUntraced(
        function* ({ address, runner }: JoiningProcess) {
          const next = randomBytes(12).toString("hex")
          const asked = performance.now()
          const { machine_id } = yield* statements.insertProcess({ id: next, address, runner })
          id = next
          held.joined(asked)
          return machine_id
        },
        Effect.catchTag(["SchemaError", "NoSuchElementError"], Effect.die)
      )

      return ProcessLeases.of({
        leaseMs,
        holds: (shard) => held.has(shard) && held.isLeased,
        epochOf: (shard) => held.epochOf(shard),
        join,
        leave: Effect.suspend(() => statements.markLeaving(id)).pipe(Effect.asVoid),
        own: () => id,
        clockAheadMs: () => aheadMs,
        living,
        take,
        renew,
        release: (shard) =>
          Effect.suspend(() => {
            held.release(shard)
            return statements.deleteShard(id, shard)
          }).pipe(Effect.asVoid),
        releaseAll: Effect.suspend(() => {
          held.releaseAll()
          return statements.deleteShards(id)
        }).pipe(Effect.asVoid)
      })
    })
  )
}
