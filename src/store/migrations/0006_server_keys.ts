/** Secrets of the server itself, made by whichever process needs one first and shared by all: what is sealed survives a restart. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table server_keys (
      name text primary key,
      key bytea not null,
      created_at timestamptz not null default now()
    )`
})
