/** The transaction of a request that makes something once for its key, within the limits of its account. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { lockByKey } from "../../platform/concurrency/lockByKey.ts"

/** Another request claimed the key between this request's look and its insert. */
export class KeyClaimed extends Schema.TaggedError<KeyClaimed>()("KeyClaimed", {}) {}

type Left<E> = Exclude<E, KeyClaimed | SqlError.SqlError>

const claimedOrFault = <E>(error: E): Effect.Effect<null, Left<E>> => {
  if (error instanceof SqlError.SqlError) return Effect.die(error)
  return error instanceof KeyClaimed ? Effect.succeed(null) : Effect.fail(error as Left<E>)
}

/** Runs `act`, which counts and inserts, as one transaction, alone for this account in this process. Null: the key was claimed meanwhile. */
export const claimKey = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const withAccountLock = yield* lockByKey

  return <A, E, R>(accountId: string, act: Effect.Effect<A, E, R>) =>
    sql.withTransaction(act).pipe(withAccountLock(accountId), Effect.catch(claimedOrFault))
})
