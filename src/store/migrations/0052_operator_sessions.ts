/**
 * The operator's way into the console: links of the command line, which work once, and the sessions that they open. Neither is any account's.
 *
 * Of codes and tokens only the SHA-256 is stored. Times are epoch milliseconds.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table operator_links (
      code_sha256 text primary key,
      expires_at bigint not null
    )`
  yield* sql`
    create table operator_sessions (
      id text primary key,
      token_sha256 text not null unique,
      created_at bigint not null,
      last_used_at bigint not null,
      source_ip text not null,
      user_agent text
    )`
})
