/** Tickets: what a page opens a WebSocket with, once and soon. Of a ticket only the SHA-256 is stored; the instant is epoch milliseconds. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table tickets (
      ticket_sha256 text primary key,
      session_id text not null references sessions (id) on delete cascade,
      expires_at bigint not null
    )`
  yield* sql`create index tickets_expiry on tickets (expires_at)`
  yield* sql`create index tickets_session on tickets (session_id)`
})
