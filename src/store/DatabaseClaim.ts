/**
 * Decides whether a database has one exclusive process or a cluster. Advisory locks, held by one connection for the life of the process, exclude
 * one mode from the other; the locks end with the process, even after a crash. In a cluster, a second lock separates services of a fleet
 * from processes that carry Sandboxes themselves.
 *
 * A connection that breaks loses the locks and takes them again. Meanwhile the journal's revision check fences any other owner.
 *
 * An exclusive process may answer from memory while it is sure of its claim (`SoleOwner.ts`). So each claim waits, before anything is committed, until
 * its predecessor is not sure any more, unless that one has left or is dead.
 */
import { Clock, Deferred, Effect, Layer } from "effect"
import type { SqlClient, SqlConnection } from "effect/sql"
import { Settings } from "../Config.ts"
import { vitalWorker, waitingFor } from "../platform/worker/Worker.ts"
import { DatabaseUnusable, KeptConnections } from "./Database.ts"
import { type Claimant, SoleOwner, SoleOwnership, soleWaitMs, ThisClaimant } from "./SoleOwner.ts"

/** "atoll" in ASCII: advisory locks of a database share one space of numbers. */
const lockKey = 0x61746f6c6cn
/** The predecessor may still be stopping. */
const waitMs = 10_000
const tryEveryMs = 250
const lookEveryMs = 5_000
/** While reads want to be answered from memory. */
const confirmEveryMs = 250

/** One lock for each ATOLL_ROLE. */
const roleKeys = { all: lockKey + 1n, service: lockKey + 2n }
type Role = keyof typeof roleKeys

/** How many sessions hold a claim on this database: an expression for a select. */
export const claimHolders = (sql: SqlClient.SqlClient) => sql.unsafe(holdersOf(lockKey))

const holdersOf = (key: bigint): string => `(
  select count(*) from pg_locks
  where locktype = 'advisory' and objsubid = 1 and granted
    and database = (select oid from pg_database where datname = current_database())
    and classid = ${key >> 32n}::int8::oid and objid = ${key & 0xffffffffn}::int8::oid)::int4`

const taken = {
  alone: new DatabaseUnusable({
    message:
      "Other Atoll processes use this database, and ATOLL_CLUSTER_PORT is not set here. Set it (and ATOLL_CLUSTER_HOST) on each of them, or stop the others."
  }),
  shared: new DatabaseUnusable({
    message:
      "Another Atoll process uses this database alone, without an ATOLL_CLUSTER_PORT. Start it again with one, or stop it."
  }),
  all: new DatabaseUnusable({
    message: "Services of a fleet use this database. Start this process with ATOLL_ROLE=service, too, or stop them."
  }),
  service: new DatabaseUnusable({
    message:
      "An Atoll that carries its Sandboxes itself (ATOLL_ROLE=all) uses this database. Stop it: its Sandboxes go on, and belong to the fleet once a host is started with its ATOLL_DATA_DIR."
  })
}

/**
 * Waits for the end of the last exclusive process's certainty, and names this one in its place if it is exclusive. The lock is held, so no other
 * process does so. False: the database has no tables yet (a restore fills it), so no successor can know of this process.
 */
const succeed = Effect.fnUntraced(function* (
  connection: SqlConnection.Connection,
  owner: SoleOwner | null,
  { name, isDead }: Claimant
) {
  const [{ has }] = (yield* connection.executeUnprepared(
    "select to_regclass('sole_claims') is not null as has",
    [],
    undefined
  )) as readonly [{ readonly has: boolean }]
  if (!has) return false
  const [row] = yield* connection.executeUnprepared("select claimant from sole_claims", [], undefined)
  const last = (row as { readonly claimant: string } | undefined)?.claimant ?? null
  if (last === name) return true
  if (last !== null && !isDead(last)) yield* Effect.sleep(soleWaitMs)
  yield* connection.executeUnprepared(
    owner === null
      ? "delete from sole_claims"
      : "insert into sole_claims (claimant) values ($1) on conflict (only_one) do update set claimant = excluded.claimant",
    owner === null ? [] : [name],
    undefined
  )
  owner?.overtaken()
  return true
})

/** The successor need not wait. The connection may be dead. */
const leave = (connection: SqlConnection.Connection, { name }: Claimant) =>
  connection
    .executeUnprepared("delete from sole_claims where claimant = $1", [name], undefined)
    .pipe(Effect.timeout(soleWaitMs), Effect.ignore)

/** Asks the session for a sign of life, often while reads want that. */
const confirming = Effect.fnUntraced(function* (connection: SqlConnection.Connection, owner: SoleOwner) {
  while (true) {
    const asked = SoleOwner.now()
    yield* connection.executeUnprepared("select 1", [], undefined)
    owner.confirmed(asked)
    yield* Effect.sleep(confirmEveryMs)
    owner.wanted.closeUnsafe()
    yield* Effect.race(owner.wanted.await, Effect.sleep(lookEveryMs))
  }
})

const claim = (mode: "alone" | "shared", role: Role) =>
  Effect.gen(function* () {
    const owner = mode === "alone" ? new SoleOwner() : null
    const claimant = yield* ThisClaimant
    const reserve = yield* (yield* KeptConnections).keep("the claim on the database")
    const statement =
      mode === "alone" ? "select pg_try_advisory_lock($1) as held" : "select pg_try_advisory_lock_shared($1) as held"
    const claimed = yield* Deferred.make<void, DatabaseUnusable>()
    const giveUpAt = (yield* Clock.currentTimeMillis) + waitMs

    const busy = (why: DatabaseUnusable) =>
      Effect.gen(function* () {
        if (yield* Deferred.isDone(claimed)) yield* Effect.logError(why.message)
        else if ((yield* Clock.currentTimeMillis) >= giveUpAt) yield* Deferred.fail(claimed, why)
      })

    /** Locks the role, in a cluster. Each process takes its own lock before it looks for the other: of two that start concurrently at most one continues. */
    const holdRole = Effect.fnUntraced(function* (connection: SqlConnection.Connection) {
      const other = role === "all" ? "service" : "all"
      yield* connection.executeUnprepared("select pg_advisory_lock_shared($1)", [roleKeys[role]], undefined)
      const [row] = yield* connection.executeUnprepared(`select ${holdersOf(roleKeys[other])} as others`, [], undefined)
      if ((row as { readonly others: number }).others === 0) return true
      yield* connection.executeUnprepared(
        "select pg_advisory_unlock_shared($1), pg_advisory_unlock_shared($2)",
        [roleKeys[role], lockKey],
        undefined
      )
      return false
    })

    /** Holds the lock, if it is free, until the connection breaks. */
    const hold = Effect.scoped(
      Effect.gen(function* () {
        const connection = yield* waitingFor("a connection to the database", reserve)
        const [row] = yield* connection.executeUnprepared(statement, [lockKey], undefined)
        if ((row as { readonly held: boolean }).held !== true) return yield* busy(taken[mode])
        if (mode === "shared" && !(yield* holdRole(connection))) return yield* busy(taken[role])
        const isNamed = yield* succeed(connection, owner, claimant)
        yield* Deferred.succeed(claimed, undefined)
        if (owner === null || !isNamed) {
          return yield* connection
            .executeUnprepared("select 1", [], undefined)
            .pipe(Effect.delay(lookEveryMs), Effect.forever)
        }
        yield* confirming(connection, owner).pipe(
          Effect.ensuring(Effect.sync(() => owner.lost())),
          Effect.onInterrupt(() => leave(connection, claimant))
        )
      })
    )
    yield* hold.pipe(
      Effect.ignore,
      Effect.andThen(Effect.suspend(() => Effect.sleep(tryEveryMs))),
      Effect.forever,
      (claims) => vitalWorker("database claim", claims)
    )
    yield* Deferred.await(claimed)
    return owner ?? new SoleOwner()
  })

export const DatabaseClaim = {
  /** Exclusive without an ATOLL_CLUSTER_PORT, shared with one. */
  layer: Layer.effect(
    SoleOwnership,
    Effect.flatMap(Settings, ({ clusterPort, role }) =>
      claim(clusterPort === 0 ? "alone" : "shared", role === "service" ? "service" : "all")
    )
  )
}
