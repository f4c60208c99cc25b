/** What the journal writes and reads: an actor's row, its transitions, and the outcomes of writing them. */

/** A command of a transition, not done yet. `key` is `revision.index`. */
export interface PendingCommand {
  readonly key: string
  readonly type: string
  readonly params: unknown
}

/** Named instants that an actor waits for: epoch milliseconds, and the event that each one fires. */
export type Deadlines = Readonly<
  Record<string, { readonly at: number; readonly event: { readonly type: string } & Record<string, unknown> }>
>

/** What XState needs to go on: nothing of its internals. */
export interface StoredSnapshot {
  readonly value: string
  readonly context: unknown
}

export interface ActorRow {
  readonly id: string
  readonly kind: string
  readonly accountId: string
  readonly sandboxId: string
  readonly machineVersion: number
  readonly revision: number
  readonly snapshot: StoredSnapshot
  readonly pending: ReadonlyArray<PendingCommand>
  readonly deadlines: Deadlines
  /** The instant of its last transition, epoch milliseconds: none of it lies before. */
  readonly changedAt: number
}

export interface TransitionRecord {
  readonly at: number
  readonly event: unknown
  readonly from: string | null
  readonly to: string
  readonly commands: ReadonlyArray<PendingCommand>
  /** Commands of earlier transitions that are not done yet; absent: none. */
  readonly stillPending?: ReadonlyArray<PendingCommand>
  readonly cause: string
  readonly requestId: string | null
}

/** One actor's next revision; `transition: null` only tidies pending commands and deadlines and keeps the revision. */
export interface ActorCommit {
  readonly actorId: string
  readonly kind: string
  /** As the row has it: its transitions are found by it. */
  readonly accountId: string
  readonly revision: number
  readonly snapshot: StoredSnapshot
  /** The one that the row has: what is derived from it is written only where it differs. */
  readonly replaces: StoredSnapshot
  /** Null: as they were. */
  readonly pending: ReadonlyArray<PendingCommand> | null
  /** Null: as they were. */
  readonly deadlines: Deadlines | null
  readonly dueAt: number | null
  readonly transition: TransitionRecord | null
  /** The key of the call that this commit answers: taken with it, in one statement. One that is taken already fences the commit. */
  readonly idempotency?: IdempotencyKey | null
}

/** A client's key for one kind of call, and what makes two of its requests the same. */
export interface IdempotencyKey {
  readonly kind: string
  readonly key: string
  readonly fingerprint: string
}

/** A new actor at revision 1, with the key that makes its creation happen once. */
export interface ActorInsert {
  readonly row: ActorRow
  readonly input: unknown
  /** Kept beside the snapshot and never rewritten by transitions; dropped when the actor no longer needs it. */
  readonly payload: unknown
  readonly dueAt: number | null
  readonly createdAt: number
  readonly transition: TransitionRecord
  readonly idempotency: IdempotencyKey | null
}

/**
 * `fenced`: another owner committed first, or the actor is gone, or the key is taken; nothing was written.
 * `failed`: the database refuses this record for good (a value it cannot store); nothing was written.
 */
export type CommitOutcome = "committed" | "fenced" | "failed"
