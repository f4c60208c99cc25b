/** The journal's statements: each writes or recognises a whole batch over `unnest`. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { int4Column, int8Column, textColumn } from "./Columns.ts"
import type { EncodedCommit, EncodedInsert } from "./JournalEncoding.ts"

/** Writes next revisions; gives the ids of those that were (`where revision = n - 1`, and the key, if there is one, was free). */
export const updateActors = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  items: ReadonlyArray<EncodedCommit>,
  tokensOf: ReadonlyArray<string>
) {
  const columns = [
    textColumn(items.map((item) => item.id)),
    int8Column(items.map((item) => item.revision)),
    int8Column(items.map((item) => item.expected)),
    textColumn(items.map((item) => item.snapshot)),
    textColumn(items.map((item) => item.pending)),
    textColumn(items.map((item) => item.deadlines)),
    int8Column(items.map((item) => item.dueAt)),
    int8Column(items.map((item) => item.at)),
    textColumn(items.map((item) => item.event)),
    textColumn(items.map((item) => item.from)),
    textColumn(items.map((item) => item.to)),
    textColumn(items.map((item) => item.commands)),
    textColumn(items.map((item) => item.cause)),
    textColumn(items.map((item) => item.requestId)),
    textColumn(tokensOf)
  ]
  const hasKeys = items.some((item) => item.idempotency !== null)
  const rows = yield* sql.unsafe<{ readonly id: string }>(
    hasKeys ? updateWithKeysStatement : updateStatement,
    hasKeys
      ? [
          ...columns,
          textColumn(items.map((item) => item.idempotency?.kind ?? null)),
          textColumn(items.map((item) => item.idempotency?.key ?? null)),
          textColumn(items.map((item) => item.idempotency?.fingerprint ?? null))
        ]
      : columns
  )
  return new Set(rows.map((row) => row.id))
})

const updateOf = (keyed: {
  readonly types: string
  readonly names: string
  readonly keys: string
  readonly condition: string
}) => `
  with input as (
    select * from unnest(
      $1::text[], $2::int8[], $3::int8[], $4::text[], $5::text[], $6::text[], $7::int8[], $8::int8[],
      $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[]${keyed.types}
    ) as i (id, revision, expected, snapshot, pending, deadlines, due_at, at, event, from_state, to_state, commands, cause, request_id, token${keyed.names})
  )${keyed.keys}, updated as (
    update actors a
    set revision = i.revision, snapshot = i.snapshot::jsonb, pending = coalesce(i.pending::jsonb, a.pending),
        deadlines = coalesce(i.deadlines::jsonb, a.deadlines), due_at = i.due_at
    from input i
    where a.id = i.id and a.revision = i.expected${keyed.condition}
    returning a.id
  ), logged as (
    insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, request_id, commit_token)
    select i.id, i.revision, i.at, i.event::jsonb, i.from_state, i.to_state, coalesce(i.commands::jsonb, '[]'), i.cause, i.request_id, i.token
    from input i join updated u on u.id = i.id
    where i.to_state is not null
  )
  select id from updated`

/** Nearly every batch. */
const updateStatement = updateOf({ types: "", names: "", keys: "", condition: "" })

/** The row is locked at its revision before its key is taken: a key never stays of a commit that another owner fenced. */
const updateWithKeysStatement = updateOf({
  types: ", $16::text[], $17::text[], $18::text[]",
  names: ", key_kind, key, fingerprint",
  keys: `, locked as (
    select a.id, a.account_id, i.key_kind, i.key, i.fingerprint from actors a join input i on a.id = i.id
    where i.key is not null and a.revision = i.expected
    for update of a
  ), keys as (
    insert into idempotency_keys (account_id, kind, key, fingerprint, target_id, created_at)
    select account_id, key_kind, key, fingerprint, id, (extract(epoch from now()) * 1000)::int8 from locked
    on conflict do nothing
    returning target_id
  )`,
  condition: " and (i.key is null or exists (select 1 from keys k where k.target_id = i.id))"
})

const insertStatement = `
  with input as (
    select * from unnest(
      $1::text[], $2::text[], $3::text[], $4::text[], $5::int4[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
      $11::int8[], $12::int8[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[]
    ) as i (id, kind, account_id, sandbox_id, machine_version, input, payload, snapshot, pending, deadlines,
            due_at, created_at, event, to_state, commands, cause, request_id, token, key_kind, key, fingerprint)
  ), keys as (
    insert into idempotency_keys (account_id, kind, key, fingerprint, target_id, created_at)
    select account_id, key_kind, key, fingerprint, id, created_at from input where key is not null
    on conflict do nothing
    returning target_id
  ), inserted as (
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, payload, snapshot, pending, deadlines, due_at, created_at)
    select id, kind, account_id, sandbox_id, machine_version, 1, input::jsonb, payload::jsonb, snapshot::jsonb, pending::jsonb, deadlines::jsonb, due_at, created_at
    from input i
    where i.key is null or exists (select 1 from keys k where k.target_id = i.id)
    on conflict do nothing
    returning id
  ), logged as (
    insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, request_id, commit_token)
    select i.id, 1, i.created_at, i.event::jsonb, null, i.to_state, i.commands::jsonb, i.cause, i.request_id, i.token
    from input i join inserted u on u.id = i.id
  )
  select id from inserted`

/** The rows that an insert batch made; also usable inside a caller's own transaction. */
export const insertActors = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  items: ReadonlyArray<EncodedInsert>,
  tokensOf: ReadonlyArray<string>
) {
  const rows = yield* sql.unsafe<{ readonly id: string }>(insertStatement, [
    textColumn(items.map((item) => item.id)),
    textColumn(items.map((item) => item.kind)),
    textColumn(items.map((item) => item.accountId)),
    textColumn(items.map((item) => item.sandboxId)),
    int4Column(items.map((item) => item.machineVersion)),
    textColumn(items.map((item) => item.input)),
    textColumn(items.map((item) => item.payload)),
    textColumn(items.map((item) => item.snapshot)),
    textColumn(items.map((item) => item.pending)),
    textColumn(items.map((item) => item.deadlines)),
    int8Column(items.map((item) => item.dueAt)),
    int8Column(items.map((item) => item.createdAt)),
    textColumn(items.map((item) => item.event)),
    textColumn(items.map((item) => item.to)),
    textColumn(items.map((item) => item.commands)),
    textColumn(items.map((item) => item.cause)),
    textColumn(items.map((item) => item.requestId)),
    textColumn(tokensOf),
    textColumn(items.map((item) => item.keyKind)),
    textColumn(items.map((item) => item.key)),
    textColumn(items.map((item) => item.fingerprint))
  ])
  return new Set(rows.map((row) => row.id))
})

/** Was this very commit written, although its answer was lost? The token tells it apart from another owner's. */
export const whichWereWritten = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tokensOf: ReadonlyArray<string>,
  ids: ReadonlyArray<string>
) {
  const rows = yield* sql.unsafe<{ readonly actor_id: string }>(
    `select t.actor_id from transitions t join unnest($1::text[], $2::text[]) as i (id, token) on t.actor_id = i.id and t.commit_token = i.token`,
    [textColumn(ids), textColumn(tokensOf)]
  )
  return new Set(rows.map((row) => row.actor_id))
})
