/**
 * The actors, their transition log, and the idempotency keys that made them.
 *
 * `snapshot` is the one truth; `status`, `name` … are generated from it. `pending` holds commands not yet done,
 * `deadlines` the named instants an actor waits for, `due_at` the earliest of them (epoch milliseconds).
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table actors (
      id text primary key,
      kind text not null,
      account_id text not null,
      sandbox_id text not null,
      machine_version integer not null,
      revision bigint not null,
      input jsonb not null,
      payload jsonb,
      snapshot jsonb not null,
      pending jsonb not null default '[]',
      deadlines jsonb not null default '{}',
      due_at bigint,
      created_at bigint not null,
      status text not null generated always as (snapshot ->> 'value') stored,
      workspace_id text generated always as (snapshot -> 'context' ->> 'workspaceId') stored
    ) with (fillfactor = 70)`
  yield* sql`create index actors_account on actors (account_id, kind, created_at desc, id desc)`
  yield* sql`create index actors_sandbox on actors (sandbox_id, kind, created_at desc, id desc)`
  // Deliberately no index over the status: a transition that changes no indexed column stays a HOT update. What is open always
  // waits for a command or a deadline, so this one finds it.
  yield* sql`create index actors_waiting on actors (sandbox_id) where pending <> '[]'::jsonb or due_at is not null`

  yield* sql`
    create table transitions (
      actor_id text not null,
      revision bigint not null,
      at bigint not null,
      event jsonb not null,
      from_state text,
      to_state text not null,
      commands jsonb not null,
      cause text not null,
      request_id text,
      commit_token text not null,
      primary key (actor_id, revision)
    )`

  yield* sql`
    create table idempotency_keys (
      account_id text not null,
      kind text not null,
      key text not null,
      fingerprint text not null,
      target_id text not null,
      response jsonb,
      created_at bigint not null,
      primary key (account_id, kind, key)
    )`
  yield* sql`create index idempotency_keys_target on idempotency_keys (target_id)`
})
