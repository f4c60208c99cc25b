/** A journal whose statements a test may hold, fail, or cut after they were written. */
import type { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { JournalDatabase } from "../../src/store/Database.ts"
import { Journal } from "../../src/store/Journal.ts"

type Around = (
  statement: string,
  run: Effect.Effect<ReadonlyArray<object>, SqlError.SqlError>
) => Effect.Effect<ReadonlyArray<object>, SqlError.SqlError>

/** The hook between the journal and the database; a test sets it. */
export class Wire {
  around: Around = (_, run) => run
}

export const journalOn = (wire: Wire) =>
  Layer.fresh(Journal.layer).pipe(
    Layer.provide(
      Layer.effect(
        JournalDatabase,
        Effect.map(
          JournalDatabase,
          (client) =>
            new Proxy(client, {
              get: (target, property, receiver) =>
                property === "unsafe"
                  ? (statement: string, parameters: ReadonlyArray<unknown>) =>
                      wire.around(statement, target.unsafe<object>(statement, parameters))
                  : Reflect.get(target, property, receiver)
            }) as PgClient.PgClient
        )
      )
    )
  )
