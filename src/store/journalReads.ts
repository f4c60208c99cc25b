/** What the journal reads of actors. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { textColumn } from "./Columns.ts"
import type { ActorRow, Deadlines, PendingCommand, StoredSnapshot } from "./JournalRecord.ts"
import { isOpen } from "./openActors.ts"

interface RawActor {
  readonly id: string
  readonly kind: string
  readonly account_id: string
  readonly sandbox_id: string
  readonly machine_version: number
  readonly revision: bigint
  readonly snapshot: StoredSnapshot
  readonly pending: ReadonlyArray<PendingCommand>
  readonly deadlines: Deadlines
  readonly changed_at: bigint | null
}

const toRow = (raw: RawActor): ActorRow => ({
  id: raw.id,
  kind: raw.kind,
  accountId: raw.account_id,
  sandboxId: raw.sandbox_id,
  machineVersion: raw.machine_version,
  revision: Number(raw.revision),
  snapshot: raw.snapshot,
  pending: raw.pending,
  deadlines: raw.deadlines,
  changedAt: Number(raw.changed_at ?? 0n)
})

export const readActorRows = (sql: SqlClient.SqlClient, ids: ReadonlyArray<string>) =>
  sql
    .unsafe<RawActor>(
      `select id, kind, account_id, sandbox_id, machine_version, revision, snapshot, pending, deadlines,
              (select t.at from transitions t where t.actor_id = a.id and t.revision = a.revision) as changed_at
       from actors a where id = any($1::text[])`,
      [textColumn([...new Set(ids)])]
    )
    .pipe(Effect.map((rows) => new Map(rows.map((row) => [row.id, toRow(row)]))))

/** Actors that wait for a command or for a deadline up to `dueBefore`. */
export const readWaiting = (sql: SqlClient.SqlClient, dueBefore: number) =>
  sql
    .unsafe<{
      readonly id: string
      readonly kind: string
      readonly revision: bigint
      readonly has_pending: boolean
      readonly due_at: bigint | null
    }>(
      `select id, kind, revision, pending <> '[]'::jsonb as has_pending, due_at from actors
       where ${isOpen("actors")} and (case when pending <> '[]'::jsonb then 0 else due_at end) <= $1`,
      // What is pending counts as due at 0.
      [BigInt(Math.max(0, dueBefore))]
    )
    .pipe(
      Effect.map((rows) =>
        rows.map((row) => ({
          id: row.id,
          kind: row.kind,
          revision: Number(row.revision),
          hasPending: row.has_pending,
          dueAt: row.due_at === null ? null : Number(row.due_at)
        }))
      )
    )
