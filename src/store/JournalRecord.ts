/** What the journal writes and reads: an actor's row, its transitions, and the outcomes of writing them. */

/** A pending command of a transition. `key` is `revision.index`. */
export interface PendingCommand {
  readonly key: string
  readonly type: string
  readonly params: unknown
}

/** An actor's named deadlines: epoch milliseconds, and the event that each one sends. */
export type Deadlines = Readonly<
  Record<string, { readonly at: number; readonly event: { readonly type: string } & Record<string, unknown> }>
>

/** The state that XState needs to continue, without its internals. */
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
  /** Epoch milliseconds of its last transition; the next one is never earlier. */
  readonly changedAt: number
}

export interface TransitionRecord {
  readonly at: number
  readonly event: unknown
  readonly from: string | null
  readonly to: string
  readonly commands: ReadonlyArray<PendingCommand>
  /** Pending commands of earlier transitions; absent: none. */
  readonly stillPending?: ReadonlyArray<PendingCommand>
  readonly cause: string
  readonly requestId: string | null
}

/** One actor's next revision. `transition: null` only updates pending commands and deadlines, and keeps the revision. */
export interface ActorCommit {
  readonly actorId: string
  readonly kind: string
  /** The row's account; transitions are indexed by it. */
  readonly accountId: string
  readonly revision: number
  readonly snapshot: StoredSnapshot
  /** The version of the machine that made the snapshot, where the row has an older one. Absent or null: the row has it. */
  readonly machineVersion?: number | null
  /** The row's present snapshot: derived columns are written only where they differ. */
  readonly replaces: StoredSnapshot
  /** Null: unchanged. */
  readonly pending: ReadonlyArray<PendingCommand> | null
  /** Null: unchanged. */
  readonly deadlines: Deadlines | null
  readonly dueAt: number | null
  readonly transition: TransitionRecord | null
  /** The key of the call that this commit answers, stored in the same statement. An existing key fences the commit. */
  readonly idempotency?: IdempotencyKey | null
}

/** A client's key for one kind of call, and the fingerprint that two equal requests share. */
export interface IdempotencyKey {
  readonly kind: string
  readonly key: string
  readonly fingerprint: string
}

/** A new actor at revision 1, with the key that makes its creation happen once. */
export interface ActorInsert {
  readonly row: ActorRow
  readonly input: unknown
  /** Stored beside the snapshot. Transitions never rewrite it; it is dropped when the actor no longer needs it. */
  readonly payload: unknown
  readonly dueAt: number | null
  readonly createdAt: number
  readonly transition: TransitionRecord
  readonly idempotency: IdempotencyKey | null
}

/**
 * `fenced`: another owner committed first, or the actor is gone, or the key is taken; nothing was written.
 * `failed`: the database permanently rejects this record (a value it cannot store); nothing was written.
 */
export type CommitOutcome = "committed" | "fenced" | "failed"
