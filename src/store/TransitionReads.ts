/**
 * Transitions in commit order, account by account.
 *
 * Transactions do not commit in the order of their numbers (the journal has several connections, and creations have their own
 * transactions). So a number alone is no position: a lower one may still commit. Reads stop below
 * `pg_snapshot_xmin(pg_current_snapshot())`, the lowest number still in progress: below it nothing is added any more. A read-only transaction
 * has no number, so backups and long reads delay nothing. A long write delays the reads of later commits, and loses none.
 *
 * An actor's own transitions are in order: the next one is decided and begun after the previous commit.
 *
 * @source PostgreSQL "Transaction ID and Snapshot Information Functions"
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { accountKey } from "./accountKey.ts"
import { int4Column, textColumn } from "./Columns.ts"

/** Covers all that transactions below `xact` wrote of an account, and the first `done` rows of `xact` itself. */
export interface TransitionPosition {
  readonly xact: number
  readonly done: number
}

export const isBefore = (one: TransitionPosition, other: TransitionPosition): boolean =>
  one.xact < other.xact || (one.xact === other.xact && one.done < other.done)

export interface TransitionRow {
  /** The position after this row. */
  readonly position: TransitionPosition
  readonly kind: string
  readonly actorId: string
  readonly sandboxId: string
  readonly revision: number
  /** Epoch milliseconds. */
  readonly at: number
  /** As JSON text. */
  readonly event: string
  readonly from: string | null
  readonly to: string
  /** As JSON text. */
  readonly commands: string
  /** In the log's format (StillPending.ts). */
  readonly stillPending: string | null
  readonly cause: string
  readonly requestId: string | null
}

export interface TransitionRange {
  readonly accountId: string
  /** Null: only return the present end. */
  readonly after: TransitionPosition | null
}

export interface TransitionPage {
  readonly rows: ReadonlyArray<TransitionRow>
  /** `rows` has everything up to here. */
  readonly upTo: TransitionPosition
  /** More rows are readable already. */
  readonly isFull: boolean
  /** A committed row is not readable yet, because an earlier transaction has not ended. */
  readonly isHeld: boolean
  /** Retention removed something after the position, or the position is not of this database. */
  readonly isStale: boolean
}

const rowsMax = 500

/** Read for each watched commit: no schema checks it. */
interface Raw {
  readonly n: number
  readonly xmin: string
  readonly forgotten: string | null
  readonly held: boolean
  readonly xact: string | null
  readonly actor_id: string
  readonly account_id: string
  readonly kind: string
  readonly sandbox_id: string
  readonly revision: bigint
  readonly at: bigint
  readonly event: string
  readonly from_state: string | null
  readonly to_state: string
  readonly commands: string
  readonly still_pending: string | null
  readonly cause: string
  readonly request_id: string | null
}

const statement = `
  with present as materialized (select pg_snapshot_xmin(pg_current_snapshot()) as xmin)
  select f.n::int4 as n, p.xmin::text as xmin, h.forgotten::text as forgotten,
    exists (select from transitions t where t.account_key = f.account_key and t.xact >= p.xmin) as held,
    e.xact::text as xact, e.actor_id, a.account_id, a.kind, a.sandbox_id, e.revision, e.at, e.event::text as event, e.from_state, e.to_state,
    e.commands::text as commands, e.still_pending, e.cause, e.request_id
  from unnest($1::int4[], $2::text[], $3::int4[]) with ordinality as f (account_key, xact, done, n)
  cross join present p
  left join transition_horizons h on h.account_key = f.account_key
  left join lateral (
    select t.xact, t.actor_id, t.revision, t.at, t.event, t.from_state, t.to_state, t.commands, t.still_pending, t.cause, t.request_id from transitions t
    where t.account_key = f.account_key and t.xact >= coalesce(f.xact::xid8, p.xmin) and t.xact < p.xmin
    order by t.xact, t.actor_id collate "C", t.revision
    offset f.done limit ${rowsMax}
  ) e on true
  left join actors a on a.id = e.actor_id
  order by f.n, e.xact, e.actor_id collate "C", e.revision`

/** A page for each range, all from one snapshot. */
export const readTransitions = (
  sql: SqlClient.SqlClient,
  ranges: ReadonlyArray<TransitionRange>
): Effect.Effect<ReadonlyArray<TransitionPage>, SqlError.SqlError> =>
  sql
    .unsafe<Raw>(statement, [
      int4Column(ranges.map(({ accountId }) => accountKey(accountId))),
      textColumn(ranges.map(({ after }) => (after === null ? null : String(after.xact)))),
      int4Column(ranges.map(({ after }) => after?.done ?? 0))
    ])
    .pipe(
      Effect.map((found) => {
        const pages = ranges.map((): Array<Raw> => [])
        for (const raw of found) pages[raw.n - 1]!.push(raw)
        return pages.map((raws, index) => pageOf(raws, ranges[index]!))
      })
    )

const pageOf = (raws: ReadonlyArray<Raw>, { accountId, after }: TransitionRange): TransitionPage => {
  const { xmin, forgotten, held } = raws[0]!
  const present = Number(xmin)
  let last = after ?? { xact: present, done: 0 }
  const rows: Array<TransitionRow> = []
  let count = 0
  for (const raw of raws) {
    if (raw.xact === null) continue
    count++
    const xact = Number(raw.xact)
    last = { xact, done: xact === last.xact ? last.done + 1 : 1 }
    // Another account may have the same key.
    if (raw.account_id !== accountId) continue
    rows.push({
      position: last,
      kind: raw.kind,
      actorId: raw.actor_id,
      sandboxId: raw.sandbox_id,
      revision: Number(raw.revision),
      at: Number(raw.at),
      event: raw.event,
      from: raw.from_state,
      to: raw.to_state,
      commands: raw.commands,
      stillPending: raw.still_pending,
      cause: raw.cause,
      requestId: raw.request_id
    })
  }
  const isFull = count === rowsMax
  const isStale = after !== null && (after.xact > present || (forgotten !== null && Number(forgotten) >= after.xact))
  return { rows, upTo: isFull ? last : { xact: present, done: 0 }, isFull, isHeld: held, isStale }
}
