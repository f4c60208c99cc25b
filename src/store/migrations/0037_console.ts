/**
 * People's way in: invitations, passphrases, sessions, links that sign in once, and rate limits on attempts. For API keys: from where
 * they were last used, and who revoked them.
 *
 * Of codes and tokens only the SHA-256 is stored, of passphrases only argon2id. Times are epoch milliseconds.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table invitations (
      id text primary key,
      code_sha256 text not null unique,
      email text,
      credit_micro_usd bigint not null,
      created_at bigint not null,
      expires_at bigint not null,
      revoked_at bigint,
      used_at bigint,
      account_id text references accounts (id)
    )`

  // One person an account. email_folded: as two spellings of one address are compared.
  yield* sql`
    create table passphrases (
      account_id text primary key references accounts (id),
      email text not null,
      email_folded text not null unique,
      hash text not null,
      changed_at bigint not null
    )`

  yield* sql`
    create table sign_in_links (
      code_sha256 text primary key,
      account_id text not null references accounts (id),
      created_at bigint not null,
      expires_at bigint not null,
      used_at bigint
    )`

  yield* sql`
    create table sessions (
      id text primary key,
      token_sha256 text not null unique,
      account_id text not null references accounts (id),
      opened_by text not null,
      created_at bigint not null,
      last_used_at bigint not null,
      ended_at bigint,
      source_ip text not null,
      user_agent text
    )`
  yield* sql`create index sessions_account on sessions (account_id, created_at)`
  yield* sql`create index sessions_created on sessions (created_at)`

  // A burst of attempts, then a steady rate: at paid_until the whole burst is available again.
  yield* sql`
    create table attempts (
      subject text primary key,
      paid_until bigint not null
    )`
  yield* sql`create index attempts_paid on attempts (paid_until)`

  yield* sql`alter table api_keys add column last_used_from text, add column revoked_by text`
})
