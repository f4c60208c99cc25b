/** Events that came to an operation and were not taken: `code` is null where the state answered with itself. Times are epoch milliseconds. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table declined_events (
      actor_id text not null,
      id text not null,
      revision int8 not null,
      at int8 not null,
      state text not null,
      event jsonb not null,
      code text,
      cause text not null,
      request_id text,
      primary key (actor_id, id)
    )`
})
