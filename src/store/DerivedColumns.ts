/**
 * Columns of actors for lists, analytics and retention. They are derived from the snapshot, only here, and the journal writes them
 * in the same statement as the snapshot.
 *
 * They are not generated columns: the database would compute all of them for each transition (and prepare to, for each statement), although few
 * transitions change any. Code that writes a snapshot without the journal has to write them as well.
 */
import type { StoredSnapshot } from "./JournalRecord.ts"

/** Null: not yet set, or not defined for this kind. */
export interface DerivedColumns {
  /** Epoch milliseconds of its end, however it ended. */
  readonly endedAt: number | null
  /** An Operation's terminal state. */
  readonly outcome: string | null
  /** An Operation's; null if it ended without a start. */
  readonly durationMs: number | null
  /** A Sandbox's own; of anything that lives in a Sandbox, the one in which it was made. */
  readonly generation: number | null
  readonly sandboxStatus: string | null
  /** A Sandbox's metadata. The row nests it under the account's id, so that a search for a common pair reads only one account's rows. */
  readonly labels: unknown
}

/** A fraction in a snapshot must not make the row unwritable. */
const whole = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? Math.floor(value) : null

const fieldsOf = (context: unknown) =>
  (typeof context === "object" && context !== null ? context : {}) as Readonly<Record<string, unknown>>

export const derivedColumns = (kind: string, { value, context }: StoredSnapshot): DerivedColumns => {
  const fields = fieldsOf(context)
  const isOperation = kind === "operation"
  const isSandbox = kind === "sandbox"
  const endedAt = whole(fields["finishedAt"] ?? fields["endedAt"] ?? fields["deletedAt"])
  const finishedAt = isOperation ? whole(fields["finishedAt"]) : null
  const startedAt = isOperation ? whole(fields["startedAt"]) : null
  return {
    endedAt,
    outcome: finishedAt === null ? null : value,
    durationMs: finishedAt === null || startedAt === null ? null : finishedAt - startedAt,
    generation: whole(fields["generation"]),
    sandboxStatus: isSandbox ? value : null,
    labels: isSandbox ? (fields["metadata"] ?? {}) : null
  }
}

/** Compares labels by reference: a change always makes a new object. */
export const areSameColumns = (one: DerivedColumns, other: DerivedColumns): boolean =>
  one.endedAt === other.endedAt &&
  one.outcome === other.outcome &&
  one.durationMs === other.durationMs &&
  one.generation === other.generation &&
  one.sandboxStatus === other.sandboxStatus &&
  one.labels === other.labels
