/** The journal's statements. Each writes, or recognises, a whole batch over `unnest`. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { int4Column, int8Column, textColumn } from "./Columns.ts"
import type { EncodedCommit, EncodedInsert } from "./JournalEncoding.ts"

/** Writes next revisions. Returns the ids that were written: `revision = n - 1` held, and the key, if any, was free. */
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
    textColumn(tokensOf),
    int4Column(items.map((item) => item.accountKey))
  ]
  const hasColumns = items.some((item) => item.hasNewColumns)
  const hasKeys = items.some((item) => item.idempotency !== null)
  const hasStillPending = items.some((item) => item.stillPending !== null)
  if (hasColumns) columns.push(...derivedOf(items))
  if (hasStillPending) columns.push(textColumn(items.map((item) => item.stillPending)))
  if (hasKeys) {
    columns.push(
      textColumn(items.map((item) => item.idempotency?.kind ?? null)),
      textColumn(items.map((item) => item.idempotency?.key ?? null)),
      textColumn(items.map((item) => item.idempotency?.fingerprint ?? null))
    )
  }
  const rows = yield* sql.unsafe<{ readonly id: string }>(
    updateStatement(hasColumns, hasStillPending, hasKeys),
    columns
  )
  return new Set(rows.map((row) => row.id))
})

/** In the order of `derivedTypes` and `derivedNames`. */
const derivedOf = (items: ReadonlyArray<Pick<EncodedCommit, "columns">>) => [
  int8Column(items.map(({ columns }) => columns.endedAt)),
  textColumn(items.map(({ columns }) => columns.outcome)),
  int8Column(items.map(({ columns }) => columns.durationMs)),
  int4Column(items.map(({ columns }) => columns.generation)),
  textColumn(items.map(({ columns }) => columns.sandboxStatus)),
  textColumn(items.map(({ columns }) => columns.labels))
]
const derivedTypes = ["int8", "text", "int8", "int4", "text", "text"]
const derivedNames = "ended_at, outcome, duration_ms, generation, sandbox_status, labels"

/** The array parameters of a statement: `$1::text[], $2::int8[]`. */
const arraysOf = (types: ReadonlyArray<string>) => types.map((type, at) => `$${at + 1}::${type}[]`).join(", ")

const labelsOf = (accountId: string) => `jsonb_build_object(${accountId}, i.labels::jsonb)`

interface UpdatePart {
  readonly types: ReadonlyArray<string>
  readonly names: string
  readonly sets?: string
  readonly keys?: string
  readonly condition?: string
  /** Columns of the log's row. */
  readonly logNames?: string
  readonly logValues?: string
}

const bare: UpdatePart = {
  types: "text int8 int8 text text text int8 int8 text text text text text text text int4".split(" "),
  names:
    "id, revision, expected, snapshot, pending, deadlines, due_at, at, event, from_state, to_state, commands, cause, request_id, token, account_key"
}

/** For a batch in which an actor began or ended, or a Sandbox made a transition. */
const withColumns: UpdatePart = {
  types: derivedTypes,
  names: derivedNames,
  sets: `,
        ended_at = i.ended_at, outcome = i.outcome, duration_ms = i.duration_ms, generation = i.generation, sandbox_status = i.sandbox_status,
        labels = case when i.labels is null then a.labels else ${labelsOf("a.account_id")} end`
}

/** For a batch with pending commands of earlier transitions; other rows get the column's default. */
const withStillPending: UpdatePart = {
  types: ["text"],
  names: "still_pending",
  logNames: ", still_pending",
  logValues: ", coalesce(i.still_pending, '')"
}

/** The row is locked at its revision before its key is inserted: a fenced commit leaves no key behind. */
const withKeys: UpdatePart = {
  types: ["text", "text", "text"],
  names: "key_kind, key, fingerprint",
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

const updateOf = (parts: ReadonlyArray<UpdatePart>) => {
  const all = (text: (part: UpdatePart) => string | undefined) => parts.map((part) => text(part) ?? "").join("")
  return `
  with input as (
    select * from unnest(${arraysOf(parts.flatMap(({ types }) => types))})
      as i (${parts.map(({ names }) => names).join(", ")})
  )${all(({ keys }) => keys)}, updated as (
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

/** One statement for each combination of parts: a transition pays only for the parts that its batch needs. */
const updateStatements = [withColumns, withStillPending, withKeys]
  .reduce<ReadonlyArray<ReadonlyArray<UpdatePart>>>(
    (all, part) => all.flatMap((parts) => [parts, [...parts, part]]),
    [[bare]]
  )
  .map(updateOf)

const updateStatement = (hasColumns: boolean, hasStillPending: boolean, hasKeys: boolean): string =>
  updateStatements[4 * Number(hasColumns) + 2 * Number(hasStillPending) + Number(hasKeys)]!

const insertTypes =
  "text text text text int4 text text text text text int8 int8 text text text text text text text text text int4".split(
    " "
  )

const insertStatement = `
  with input as (
    select * from unnest(${arraysOf([...insertTypes, ...derivedTypes])}) as i (id, kind, account_id, sandbox_id, machine_version, input, payload, snapshot, pending, deadlines,
            due_at, created_at, event, to_state, commands, cause, request_id, token, key_kind, key, fingerprint, account_key, ${derivedNames})
  ), keys as (
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

/** Inserts a batch of actors and returns their rows; also works inside a caller's own transaction. */
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
    textColumn(items.map((item) => item.fingerprint)),
    int4Column(items.map((item) => item.accountKey)),
    ...derivedOf(items)
  ])
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
