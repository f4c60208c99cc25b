/**
 * Who may own the actors of a database: one process alone, or any number that share them as a cluster. An advisory lock, held by a
 * connection for as long as the process lives, keeps the two apart; it ends with the process, however that ends.
 *
 * A connection that breaks loses the claim and gets it again; meanwhile the journal's revision check fences whoever came between.
 */
import { Clock, Deferred, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Settings } from "../Config.ts"
import { vitalWorker } from "../worker/Worker.ts"
import { DatabaseUnusable } from "./Database.ts"

/** "atoll" in ASCII: advisory locks of a database share one space of numbers. */
const lockKey = 0x61746f6c6cn
/** A predecessor may still be ending. */
const waitMs = 10_000
const tryEveryMs = 250
const lookEveryMs = 5_000

/** How many sessions have a claim on this database: an expression of a select. */
export const claimHolders = (sql: SqlClient.SqlClient) => sql`(
  select count(*) from pg_locks
  where locktype = 'advisory' and objsubid = 1 and granted
    and database = (select oid from pg_database where datname = current_database())
    and classid = ${Number(lockKey >> 32n)}::int8::oid and objid = ${Number(lockKey & 0xffffffffn)}::int8::oid)::int4`

const taken = {
  alone: new DatabaseUnusable({
    message:
      "Other Atoll processes use this database, and ATOLL_CLUSTER_PORT is not set here. Set it (and ATOLL_CLUSTER_HOST) on each of them, or stop the others."
  }),
  shared: new DatabaseUnusable({
    message:
      "Another Atoll process uses this database alone, without an ATOLL_CLUSTER_PORT. Start it again with one, or stop it."
  })
}

const claim = (mode: "alone" | "shared") =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const statement =
      mode === "alone" ? "select pg_try_advisory_lock($1) as held" : "select pg_try_advisory_lock_shared($1) as held"
    const claimed = yield* Deferred.make<void, DatabaseUnusable>()
    const giveUpAt = (yield* Clock.currentTimeMillis) + waitMs

    const busy = Effect.gen(function* () {
      if (yield* Deferred.isDone(claimed)) yield* Effect.logError(taken[mode].message)
      else if ((yield* Clock.currentTimeMillis) >= giveUpAt) yield* Deferred.fail(claimed, taken[mode])
    })

    /** Until its connection breaks, if the lock is free. */
    const hold = Effect.scoped(
      Effect.gen(function* () {
        const connection = yield* sql.reserve
        const [row] = yield* connection.executeUnprepared(statement, [lockKey], undefined)
        if ((row as { readonly held: boolean }).held !== true) return yield* busy
        yield* Deferred.succeed(claimed, undefined)
        yield* connection.executeUnprepared("select 1", [], undefined).pipe(Effect.delay(lookEveryMs), Effect.forever)
      })
    )
    yield* hold.pipe(
      Effect.ignore,
      Effect.andThen(Effect.suspend(() => Effect.sleep(tryEveryMs))),
      Effect.forever,
      (claims) => vitalWorker("database claim", claims)
    )
    yield* Deferred.await(claimed)
  })

export const DatabaseClaim = {
  /** Alone without an ATOLL_CLUSTER_PORT, shared with one. */
  layer: Layer.effectDiscard(
    Effect.flatMap(Settings, ({ clusterPort }) => claim(clusterPort === 0 ? "alone" : "shared"))
  )
}
