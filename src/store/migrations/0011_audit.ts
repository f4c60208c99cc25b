/** The API audit log of each account: who called what, from where, with which outcome. Times are epoch milliseconds. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table audit_events (
      id text primary key,
      account_id text not null,
      at bigint not null,
      api_key_id text not null,
      key_hint text not null,
      method text not null,
      path text not null,
      status integer not null,
      request_id text not null,
      source_ip text not null
    )`
  yield* sql`create index audit_events_account on audit_events (account_id, id desc)`
  yield* sql`create index audit_events_at on audit_events (at)`
})
