/**
 * What a Sandbox has open, by an expression that no other index serves (`openActors.ts`). It replaces `actors_waiting`, whose columns it has, so
 * what was a HOT update stays one. It holds only what is open, so it is soon made.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create index actors_open on actors ((case when pending <> '[]'::jsonb or due_at is not null then sandbox_id end), kind)
    where pending <> '[]'::jsonb or due_at is not null`
  yield* sql`drop index actors_waiting`
})
