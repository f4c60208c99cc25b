/** Lifetimes of the operator's links and sessions, and the deletion of ended ones. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

export const operatorLinkValidMs = 10 * 60 * 1000
export const operatorSessionMaxMs = 12 * 60 * 60 * 1000
const idleMaxMs = 60 * 60 * 1000

/** When a session ends without further use. All in epoch milliseconds. */
export const operatorSessionEnd = (createdAt: number, lastUsedAt: number): number =>
  Math.min(createdAt + operatorSessionMaxMs, lastUsedAt + idleMaxMs)

/** Condition on a row of `operator_sessions`, at an instant. */
export const isOver = (sql: SqlClient.SqlClient, now: number) =>
  sql`(created_at <= ${BigInt(now - operatorSessionMaxMs)} or last_used_at <= ${BigInt(now - idleMaxMs)})`

export const forgetOver = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, now: number) {
  yield* sql`delete from operator_links where expires_at <= ${BigInt(now)}`
  yield* sql`delete from operator_sessions where ${isOver(sql, now)}`
})
