/** Deletes the environment and the input of an operation, which it no longer needs. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const operationSecrets = Effect.map(
  SqlClient.SqlClient,
  (sql) => (id: string) =>
    sql`update actors set payload = payload || '{"env": null, "stdin": null}'::jsonb where id = ${id}`.pipe(
      Effect.orDie,
      Effect.asVoid
    )
)
