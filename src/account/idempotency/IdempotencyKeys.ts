/**
 * What is stored of an Idempotency-Key: which request took it, and what it made.
 *
 * A key is written in the statement or transaction that makes its thing: `Journal.ts` for actors, `Idempotency.ts` for rows.
 */
import { Effect, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { IdempotencyConflict } from "../../../schemas/Errors.ts"

export interface TakenBy {
  readonly accountId: string
  /** The kind of call: keys of different kinds do not meet. */
  readonly kind: string
  readonly key: string
}

const Taken = Schema.Struct({
  fingerprint: Schema.String,
  targetId: Schema.String,
  /** As it was answered then, by whichever version. Null where the answer is read from the target. */
  response: Schema.Unknown
})

const isThisKey = (sql: SqlClient.SqlClient, { accountId, kind, key }: TakenBy) =>
  sql`account_id = ${accountId} and kind = ${kind} and key = ${key}`

/** A condition for a larger query. */
export const keyIsTaken = (sql: SqlClient.SqlClient, key: TakenBy) =>
  sql`exists (select 1 from idempotency_keys where ${isThisKey(sql, key)})`

export const isKeyTaken = (sql: SqlClient.SqlClient, key: TakenBy): Effect.Effect<boolean> =>
  sql<{ readonly taken: boolean }>`select ${keyIsTaken(sql, key)} as taken`.pipe(
    Effect.map(([row]) => row!.taken),
    Effect.orDie
  )

/** What an earlier call with this key made. Null: the key is free. IdempotencyConflict: another request took it. */
export const takenKey = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, key: TakenBy, fingerprint: string) {
  const found = yield* Effect.orDie(
    SqlSchema.findAll({
      Request: Schema.Void,
      Result: Taken,
      execute: () => sql`
        select fingerprint, target_id as "targetId", response from idempotency_keys where ${isThisKey(sql, key)}`
    })()
  )
  const taken = found[0]
  if (taken === undefined) return null
  return taken.fingerprint === fingerprint ? taken : yield* new IdempotencyConflict()
})
