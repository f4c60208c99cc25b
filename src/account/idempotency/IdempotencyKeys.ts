/**
 * What is stored of an Idempotency-Key: which request took it, and what it made.
 *
 * A key is written in the statement or transaction that makes its thing: `Journal.ts` for actors, `Idempotency.ts` for rows.
 */
import { Clock, Effect, Schema } from "effect"
import { type SqlClient, SqlSchema, type Statement } from "effect/sql"
import { IdempotencyConflict } from "../../../schemas/Errors.ts"

export interface TakenBy {
  readonly accountId: string
  /** The kind of call: keys of different kinds do not meet. */
  readonly kind: string
  readonly key: string
}

const Taken = Schema.Struct({
  /** Null: the key is free. */
  fingerprint: Schema.NullOr(Schema.String),
  targetId: Schema.NullOr(Schema.String),
  /** As it was answered then, by whichever version. Null where the answer is read from the target. */
  response: Schema.Unknown,
  beside: Schema.Unknown
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

/** Takes the key, unless another call has it. @param response What it is answered with later; null: that is read from the target, or stored later. */
export const takeKey = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { accountId, kind, key }: TakenBy,
  {
    fingerprint,
    targetId,
    response
  }: { readonly fingerprint: string; readonly targetId: string; readonly response: unknown }
) {
  const at = yield* Clock.currentTimeMillis
  const taken = yield* Effect.orDie(sql`
    insert into idempotency_keys (account_id, kind, key, fingerprint, target_id, created_at, response)
    values (${accountId}, ${kind}, ${key}, ${fingerprint}, ${targetId}, ${BigInt(at)},
      ${response === null ? null : JSON.stringify(response)}::jsonb)
    on conflict do nothing
    returning key`)
  return taken.length > 0
})

/** What an earlier call with this key made. Null: the key is free. IdempotencyConflict: another request took it. */
export const takenKey = (sql: SqlClient.SqlClient, key: TakenBy, fingerprint: string) =>
  Effect.map(takenKeyBeside(sql, key, fingerprint, sql`null`), ({ taken }) => taken)

/** The same, and the value of an expression, in one statement. */
export const takenKeyBeside = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  key: TakenBy,
  fingerprint: string,
  beside: Statement.Fragment
) {
  const found = yield* Effect.orDie(
    SqlSchema.findOne({
      Request: Schema.Void,
      Result: Taken,
      execute: () => sql`
        select fingerprint, target_id as "targetId", response, ${beside} as beside
        from (values (1)) as one left join idempotency_keys on ${isThisKey(sql, key)}`
    })()
  )
  const { targetId, response } = found
  if (found.fingerprint === null || targetId === null) return { taken: null, beside: found.beside }
  if (found.fingerprint !== fingerprint) return yield* new IdempotencyConflict()
  return { taken: { targetId, response }, beside: found.beside }
})
