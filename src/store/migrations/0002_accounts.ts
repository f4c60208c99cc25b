/**
 * Accounts, their API keys, and their workspaces.
 *
 * Of a key's secret only the SHA-256 is stored, and its last characters as a hint. Times are epoch milliseconds.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table accounts (
      id text primary key,
      name text not null unique,
      email text,
      created_at bigint not null
    )`

  yield* sql`
    create table api_keys (
      id text primary key,
      account_id text not null references accounts (id),
      name text not null,
      secret_sha256 text not null unique,
      hint text not null,
      scopes text[] not null,
      created_at bigint not null,
      last_used_at bigint,
      revoked_at bigint
    )`
  yield* sql`create index api_keys_account on api_keys (account_id, id)`

  yield* sql`
    create table workspaces (
      id text primary key,
      account_id text not null references accounts (id),
      name text not null,
      created_at bigint not null
    )`
  yield* sql`create index workspaces_account on workspaces (account_id, id desc)`
})
