/**
 * A database client whose process ends at the n-th statement: that statement is not sent, and its transaction is rolled
 * back.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

export class Crash extends Error {}

export interface CrashPlan {
  /** The number of statements before the end; null: all. */
  left: number | null
}

const crashes = (plan: CrashPlan): boolean => {
  if (plan.left === null) return false
  plan.left -= 1
  return plan.left < 0
}

const crash = Effect.die(new Crash("The process ended."))

export const crashingClient = (client: SqlClient.SqlClient, plan: CrashPlan): SqlClient.SqlClient =>
  new Proxy(client, {
    apply: (target, self, args) => (crashes(plan) ? crash : Reflect.apply(target as never, self, args)),
    get(target, property, receiver) {
      if (property !== "unsafe") return Reflect.get(target, property, receiver)
      return (...args: Parameters<SqlClient.SqlClient["unsafe"]>) => (crashes(plan) ? crash : target.unsafe(...args))
    }
  })
