/** The journal's statements. Each writes, or recognises, a whole batch; `journalInput.ts` has how its rows come. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { textColumn } from "./Columns.ts"
import type { EncodedCommit, EncodedInsert } from "./JournalEncoding.ts"
import { type ColumnType, inputOf, parametersOf, typesOf, type Value } from "./journalInput.ts"

/** Writes next revisions. Returns the ids that were written: `revision = n - 1` held, and the key, if any, was free. */
export const updateActors = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  items: ReadonlyArray<EncodedCommit>,
  tokensOf: ReadonlyArray<string>
) {
  const parts = [
    bare,
    ...(items.some((item) => item.hasNewColumns) ? [withColumns] : []),
    ...(items.some((item) => item.machineVersion !== null) ? [withVersion] : []),
    ...(items.some((item) => item.stillPending !== null) ? [withStillPending] : []),
    ...(items.some((item) => item.idempotency !== null) ? [withKeys] : [])
  ]
  const values = items.map((item, at) => parts.flatMap((part) => part.values(item, tokensOf[at]!)))
  const rows = yield* sql.unsafe<{ readonly id: string }>(
    updateStatement(items.length === 1, parts),
    parametersOf(
      parts.flatMap(({ types }) => types),
      values
    )
  )
  return new Set(rows.map((row) => row.id))
})

const derivedTypes: ReadonlyArray<ColumnType> = ["int8", "text", "int8", "int4", "text", "text"]
const derivedNames = "ended_at, outcome, duration_ms, generation, sandbox_status, labels"
const derivedOf = ({ columns }: Pick<EncodedCommit, "columns">): ReadonlyArray<Value> => [
  columns.endedAt,
  columns.outcome,
  columns.durationMs,
  columns.generation,
  columns.sandboxStatus,
  columns.labels
]

const labelsOf = (accountId: string) => `jsonb_build_object(${accountId}, i.labels::jsonb)`

interface UpdatePart {
  readonly types: ReadonlyArray<ColumnType>
  readonly names: string
  /** In the order of `types` and `names`. */
  readonly values: (item: EncodedCommit, token: string) => ReadonlyArray<Value>
  readonly sets?: string
  readonly keys?: string
  readonly condition?: string
  /** Columns of the log's row. */
  readonly logNames?: string
  readonly logValues?: string
}

const bare: UpdatePart = {
  types: typesOf("text int8 int8 text text text int8 int8 text text text text text text text int4"),
  names:
    "id, revision, expected, snapshot, pending, deadlines, due_at, at, event, from_state, to_state, commands, cause, request_id, token, account_key",
  values: (item, token) => [
    item.id,
    item.revision,
    item.expected,
    item.snapshot,
    item.pending,
    item.deadlines,
    item.dueAt,
    item.at,
    item.event,
    item.from,
    item.to,
    item.commands,
    item.cause,
    item.requestId,
    token,
    item.accountKey
  ]
}

/** For a batch in which an actor began or ended, or a Sandbox made a transition. */
const withColumns: UpdatePart = {
  types: derivedTypes,
  names: derivedNames,
  values: derivedOf,
  sets: `,
        ended_at = i.ended_at, outcome = i.outcome, duration_ms = i.duration_ms, generation = i.generation, sandbox_status = i.sandbox_status,
        labels = case when i.labels is null then a.labels else ${labelsOf("a.account_id")} end`
}

/** For a batch in which an actor was migrated: its snapshot and the version that made it are one. */
const withVersion: UpdatePart = {
  types: ["int4"],
  names: "machine_version",
  values: (item) => [item.machineVersion],
  sets: ", machine_version = coalesce(i.machine_version, a.machine_version)"
}

/** For a batch with pending commands of earlier transitions; other rows get the column's default. */
const withStillPending: UpdatePart = {
  types: ["text"],
  names: "still_pending",
  values: (item) => [item.stillPending],
  logNames: ", still_pending",
  logValues: ", coalesce(i.still_pending, '')"
}

/** The row is locked at its revision before its key is inserted: a fenced commit leaves no key behind. */
const withKeys: UpdatePart = {
  types: ["text", "text", "text"],
  names: "key_kind, key, fingerprint",
  values: ({ idempotency }) => [idempotency?.kind ?? null, idempotency?.key ?? null, idempotency?.fingerprint ?? null],
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
}

const updateOf = (lone: boolean, parts: ReadonlyArray<UpdatePart>) => {
  const all = (text: (part: UpdatePart) => string | undefined) => parts.map((part) => text(part) ?? "").join("")
  const types = parts.flatMap((part) => part.types)
  const names = parts.flatMap((part) => part.names.split(", "))
  return `
  with ${inputOf(lone, types, names)}${all(({ keys }) => keys)}, updated as (
    update actors a
    set revision = i.revision, snapshot = i.snapshot::jsonb, pending = coalesce(i.pending::jsonb, a.pending),
        deadlines = coalesce(i.deadlines::jsonb, a.deadlines), due_at = i.due_at${all(({ sets }) => sets)}
    from input i
    where a.id = i.id and a.revision = i.expected${all(({ condition }) => condition)}
    returning a.id
  ), logged as (
    insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, request_id, commit_token, account_key${all(({ logNames }) => logNames)})
    select i.id, i.revision, i.at, i.event::jsonb, i.from_state, i.to_state, coalesce(i.commands::jsonb, '[]'), i.cause, i.request_id, i.token,
      i.account_key${all(({ logValues }) => logValues)}
    from input i join updated u on u.id = i.id
    where i.to_state is not null
  )
  select id from updated`
}

const statements = new Map<string, string>()

/** One statement for each combination of parts: a transition pays only for the parts that its batch needs. */
const updateStatement = (lone: boolean, parts: ReadonlyArray<UpdatePart>): string => {
  const key = `${lone} ${parts.map(({ names }) => names)}`
  const known = statements.get(key) ?? updateOf(lone, parts)
  statements.set(key, known)
  return known
}

const insertTypes: ReadonlyArray<ColumnType> = [
  ...typesOf(
    "text text text text int4 text text text text text int8 int8 text text text text text text text text text int4"
  ),
  ...derivedTypes
]
const insertNames = `id, kind, account_id, sandbox_id, machine_version, input, payload, snapshot, pending, deadlines, due_at, created_at, event, to_state, commands, cause, request_id, token, key_kind, key, fingerprint, account_key, ${derivedNames}`

const insertOf = (lone: boolean) => `
  with ${inputOf(lone, insertTypes, insertNames.split(", "))}, keys as (
    insert into idempotency_keys (account_id, kind, key, fingerprint, target_id, created_at)
    select account_id, key_kind, key, fingerprint, id, created_at from input where key is not null
    on conflict do nothing
    returning target_id
  ), inserted as (
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, payload, snapshot, pending, deadlines, due_at, created_at,
      ${derivedNames})
    select id, kind, account_id, sandbox_id, machine_version, 1, input::jsonb, payload::jsonb, snapshot::jsonb, pending::jsonb, deadlines::jsonb, due_at, created_at,
      ended_at, outcome, duration_ms, generation, sandbox_status, case when labels is not null then ${labelsOf("account_id")} end
    from input i
    where i.key is null or exists (select 1 from keys k where k.target_id = i.id)
    on conflict do nothing
    returning id
  ), logged as (
    insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, request_id, commit_token, account_key)
    select i.id, 1, i.created_at, i.event::jsonb, null, i.to_state, i.commands::jsonb, i.cause, i.request_id, i.token, i.account_key
    from input i join inserted u on u.id = i.id
  )
  select id from inserted`

const insertStatements = { lone: insertOf(true), batch: insertOf(false) }

/** Inserts a batch of actors and returns their rows; also works inside a caller's own transaction. */
export const insertActors = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  items: ReadonlyArray<EncodedInsert>,
  tokensOf: ReadonlyArray<string>
) {
  const values = items.map(
    (item, at): ReadonlyArray<Value> => [
      item.id,
      item.kind,
      item.accountId,
      item.sandboxId,
      item.machineVersion,
      item.input,
      item.payload,
      item.snapshot,
      item.pending,
      item.deadlines,
      item.dueAt,
      item.createdAt,
      item.event,
      item.to,
      item.commands,
      item.cause,
      item.requestId,
      tokensOf[at]!,
      item.keyKind,
      item.key,
      item.fingerprint,
      item.accountKey,
      ...derivedOf(item)
    ]
  )
  const rows = yield* sql.unsafe<{ readonly id: string }>(
    items.length === 1 ? insertStatements.lone : insertStatements.batch,
    parametersOf(insertTypes, values)
  )
  return new Set(rows.map((row) => row.id))
})

/** Finds which commits were written although their answer was lost. The token tells them from another owner's. */
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
