/** The database behind gates: commits and creations wait, fail before they are written, or lose their answer after. */
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { type SqlClient, SqlError } from "effect/sql"
import type { GateCall, Gates } from "./Gates.ts"

const connectionLost = () =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ cause: new Error("the race cut it"), message: "The connection was lost." })
  })

const callOf = (statement: string): GateCall | null => {
  if (/\bupdate actors\b/.test(statement)) return "commit"
  if (/\binsert into actors\b/.test(statement)) return "insert"
  return null
}

const gated = <A, E, R>(gates: Gates, owner: object, call: GateCall, effect: Effect.Effect<A, E, R>) =>
  gates.arrive(call, "before", owner).pipe(
    Effect.mapError(connectionLost),
    // A statement that was sent is executed, even if its sender ends.
    Effect.andThen(Effect.uninterruptible(effect)),
    Effect.tap(() => Effect.mapError(gates.arrive(call, "after", owner), connectionLost))
  )

export const gatedJournal = (client: PgClient.PgClient, gates: Gates, owner: object): PgClient.PgClient =>
  new Proxy(client, {
    get(target, property, receiver) {
      if (property !== "unsafe") return Reflect.get(target, property, receiver)
      return (statement: string, parameters: ReadonlyArray<unknown>) => {
        const query = target.unsafe(statement, parameters)
        const call = callOf(statement)
        return call === null ? query : gated(gates, owner, call, query)
      }
    }
  })

export const gatedClient = (client: SqlClient.SqlClient, gates: Gates, owner: object): SqlClient.SqlClient =>
  new Proxy(client, {
    get(target, property, receiver) {
      if (property !== "withTransaction") return Reflect.get(target, property, receiver)
      return <A, E, R>(effect: Effect.Effect<A, E, R>) => gated(gates, owner, "claim", target.withTransaction(effect))
    }
  })
