/**
 * Encodes records for the journal's statements. Each is encoded before it joins a batch, so that a record that cannot be encoded
 * (an instant that is no integer, a value that JSON cannot carry) is refused alone.
 */
import { watchedKey } from "./accountKey.ts"
import { areSameColumns, type DerivedColumns, derivedColumns } from "./DerivedColumns.ts"
import type { ActorCommit, ActorInsert } from "./JournalRecord.ts"
import { stillPendingText } from "./StillPending.ts"

const json = (value: unknown): string => JSON.stringify(value ?? null)
const instant = (value: number | null): bigint | null => (value === null ? null : BigInt(value))

/** `labels: null`: unchanged, or none. */
const encodeColumns = (columns: DerivedColumns, before: DerivedColumns | null) => ({
  endedAt: instant(columns.endedAt),
  outcome: columns.outcome,
  durationMs: instant(columns.durationMs),
  generation: columns.generation,
  sandboxStatus: columns.sandboxStatus,
  labels: columns.labels === null || columns.labels === before?.labels ? null : json(columns.labels)
})

/** Throws if the record cannot be encoded. */
export const encodeCommit = (commit: ActorCommit) => {
  const { transition } = commit
  const columns = derivedColumns(commit.kind, commit.snapshot)
  const before = derivedColumns(commit.kind, commit.replaces)
  return {
    id: commit.actorId,
    accountId: commit.accountId,
    accountKey: watchedKey(commit.kind, commit.accountId),
    revision: BigInt(commit.revision),
    expected: BigInt(transition === null ? commit.revision : commit.revision - 1),
    snapshot: json(commit.snapshot),
    machineVersion: commit.machineVersion ?? null,
    pending: commit.pending === null ? null : json(commit.pending),
    deadlines: commit.deadlines === null ? null : json(commit.deadlines),
    dueAt: instant(commit.dueAt),
    at: BigInt(transition?.at ?? 0),
    event: json(transition?.event),
    from: transition?.from ?? null,
    to: transition?.to ?? null,
    commands: transition?.commands.length ? json(transition.commands) : null,
    stillPending: transition?.stillPending?.length ? stillPendingText(transition.stillPending) : null,
    cause: transition?.cause ?? null,
    requestId: transition?.requestId ?? null,
    idempotency: commit.idempotency ?? null,
    columns: encodeColumns(columns, before),
    hasNewColumns: !areSameColumns(columns, before)
  }
}

/** Throws if the record cannot be encoded. */
export const encodeInsert = ({ row, input, payload, dueAt, createdAt, transition, idempotency }: ActorInsert) => ({
  id: row.id,
  kind: row.kind,
  accountId: row.accountId,
  accountKey: watchedKey(row.kind, row.accountId),
  sandboxId: row.sandboxId,
  machineVersion: row.machineVersion,
  input: json(input),
  payload: payload === null ? null : json(payload),
  snapshot: json(row.snapshot),
  pending: json(row.pending),
  deadlines: json(row.deadlines),
  dueAt: instant(dueAt),
  createdAt: BigInt(createdAt),
  event: json(transition.event),
  to: transition.to,
  commands: json(transition.commands),
  cause: transition.cause,
  requestId: transition.requestId,
  keyKind: idempotency?.kind ?? null,
  key: idempotency?.key ?? null,
  fingerprint: idempotency?.fingerprint ?? null,
  columns: encodeColumns(derivedColumns(row.kind, row.snapshot), null)
})

export type EncodedCommit = ReturnType<typeof encodeCommit>
export type EncodedInsert = ReturnType<typeof encodeInsert>
