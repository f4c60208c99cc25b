/** Deletes the environment and the input of an operation, which it no longer needs. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const operationSecrets = Effect.map(
  SqlClient.SqlClient,
  (sql) => (id: string) =>
    // Most operations have neither: such a row is not written again, and nothing waits for the disk.
    sql`
      update actors set payload = payload || '{"env": null, "stdin": null}'::jsonb
      where id = ${id} and (payload -> 'env' not in ('null', '{}') or payload -> 'stdin' <> 'null')`.pipe(
      Effect.orDie,
      Effect.asVoid
    )
)
