/**
 * Runs a call once for each Idempotency-Key, in one transaction with its result.
 *
 * For calls that insert a row; actors store their keys in their own commit (Journal.ts). A second call with the same key waits for the
 * first (on the unique index) and gets its response. If the first failed, nothing is stored, and the second does the work.
 *
 * @source contract-details.md "Behaviour that the contract leaves open": Idempotency
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { changeBegins } from "../../store/Change.ts"
import { type TakenBy, takeKey, takenKey } from "./IdempotencyKeys.ts"

export interface IdempotentCall<A, E, R> extends TakenBy {
  readonly fingerprint: string
  /** Runs inside the transaction. `response` is the answer to replays; it must be JSON. */
  readonly make: Effect.Effect<{ readonly targetId: string; readonly response: A }, E, R>
}

export const once = Effect.fn("Idempotency.once")(function* <A, E, R>(call: IdempotentCall<A, E, R>) {
  const sql = yield* SqlClient.SqlClient

  return yield* Effect.gen(function* () {
    if (!(yield* takeKey(sql, call, { fingerprint: call.fingerprint, targetId: "", response: null }))) {
      const first = yield* takenKey(sql, call, call.fingerprint)
      return first!.response as A
    }
    const { targetId, response } = yield* call.make
    // Point of no return: before here nothing can be committed.
    yield* changeBegins
    yield* Effect.orDie(sql`
      update idempotency_keys set target_id = ${targetId}, response = ${JSON.stringify(response)}::jsonb
      where account_id = ${call.accountId} and kind = ${call.kind} and key = ${call.key}`)
    return response
  }).pipe(
    sql.withTransaction,
    Effect.catchTag("SqlError", (error) => Effect.die(error))
  )
})
