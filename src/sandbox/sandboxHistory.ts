/**
 * The logs of all present and former resources in a Sandbox, in pages: the newest resource first, each from its beginning.
 *
 * A page costs what it contains, however long the history is: an index over a Sandbox's resources finds them, and a resource's revision tells
 * how many entries its log has, so no more logs are read than fit on the page.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type InnerTransition, innerKinds, type SandboxHistory } from "../../schemas/Transition.ts"
import { type ListBinding, openCursor, pageOf } from "../lists/Paging.ts"
import { forAMoment } from "../store/DatabaseFault.ts"
import type { PendingCommand } from "../store/JournalRecord.ts"
import { stillPendingOf } from "../store/StillPending.ts"

interface Raw {
  readonly id: string
  readonly kind: (typeof innerKinds)[number]
  readonly created_at: bigint
  readonly revision: bigint
  readonly at: bigint
  readonly event: InnerTransition["event"]
  readonly from_state: string | null
  readonly to_state: string
  readonly commands: ReadonlyArray<PendingCommand>
  readonly still_pending: string | null
  readonly cause: string
  readonly request_id: string | null
}

/** After everything. */
const newest = { createdAt: 9_223_372_036_854_775_807n, id: "", seen: 0 }

const position = /^\d{1,15}:[0-9A-Za-z_]{1,100}:\d{1,15}$/

const positionOf = (list: ListBinding, cursor: string | null) =>
  Effect.map(openCursor(list, cursor, position), (text) => {
    if (text === null) return newest
    const [createdAt, id, seen] = text.split(":") as [string, string, string]
    return { createdAt: BigInt(createdAt), id, seen: Number(seen) }
  })

/**
 * Each kind separately, in the order of its index. The resource that the cursor names may have no entry left, so one more resource
 * is listed than fits on the page.
 */
const listed = innerKinds
  .map(
    (kind) => `(
      select id, kind, created_at, revision from actors
      where sandbox_id = $1 and kind = '${kind}' and (created_at, id) <= ($2::int8, $3::text) order by created_at desc, id desc limit $5::int4 + 1)`
  )
  .join(" union all ")

const statement = `
  with listed as materialized (${listed}),
  rest as (select l.*, case when id = $3::text then $4::int8 else 0 end as seen from listed l),
  counted as (
    select r.*, sum(revision - seen) over (order by created_at desc, id desc rows unbounded preceding) - (revision - seen) as ahead from rest r)
  select c.id, c.kind, c.created_at, t.*
  from counted c cross join lateral (
    select revision, at, event, from_state, to_state, commands, still_pending, cause, request_id from transitions
    where actor_id = c.id and revision > c.seen order by revision limit $5::int4
  ) t
  where c.ahead < $5::int4
  order by c.created_at desc, c.id desc, t.revision limit $5::int4`

/** `era`: of `Actors`. */
export const sandboxHistory = Effect.fn("sandboxHistory")(function* (
  accountId: string,
  sandboxId: string,
  { limit, cursor, era }: { readonly limit: number; readonly cursor: string | null; readonly era: string }
) {
  const sql = yield* SqlClient.SqlClient
  const list: ListBinding = [accountId, "history", sandboxId, era]
  const { createdAt, id, seen } = yield* positionOf(list, cursor)
  const rows = yield* sql
    .unsafe<Raw>(statement, [sandboxId, createdAt, id, BigInt(seen), limit + 1])
    .pipe(Effect.retry(forAMoment), Effect.orDie)
  const { entries, nextCursor } = pageOf(list, rows, limit, (row) => `${row.created_at}:${row.id}:${row.revision}`)
  return {
    transitions: entries.map((row) => ({
      kind: row.kind,
      actorId: row.id,
      sandboxId,
      revision: Number(row.revision),
      at: new Date(Number(row.at)).toISOString(),
      event: row.event,
      from: row.from_state,
      to: row.to_state,
      commands: row.commands.map(({ type, params }) => ({ type, params })),
      stillPending: stillPendingOf(row.still_pending),
      cause: row.cause,
      requestId: row.request_id
    })),
    nextCursor
  } satisfies SandboxHistory
})
