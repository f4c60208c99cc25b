/** One machine kind as the host sees it: the machine, its version, and who interprets its commands. */
import type { Effect, Schema } from "effect"
import type { AnyStateMachine } from "xstate"
import type { PendingCommand, StoredSnapshot } from "../store/JournalRecord.ts"

export interface AnyEvent {
  readonly type: string
  readonly [field: string]: unknown
}

/** A committed state of one actor. */
export interface ActorState<C = unknown> {
  readonly id: string
  readonly kind: string
  readonly accountId: string
  readonly sandboxId: string
  readonly revision: number
  readonly value: string
  readonly context: C
}

/** What an interpreter may look at while it does a command. */
export interface CommandScope<C = unknown> {
  /** The committed state at this moment (it moves on while a long command runs). */
  readonly state: () => ActorState<C>
  /** Sends an event to this very actor and goes on; a refusal is not an error. */
  readonly tell: (event: AnyEvent) => Effect.Effect<void>
}

/** An event that the machine did not take; nothing is committed for it. */
export interface DeclinedEvent {
  readonly actorId: string
  /** Of the state that it met. */
  readonly revision: number
  readonly state: string
  /** Epoch milliseconds, never before those of the transition before it. */
  readonly at: number
  readonly event: AnyEvent
  /** Why it was refused; null: the state answered with itself. */
  readonly code: string | null
  readonly cause: string
  readonly requestId: string | null
}

export interface ActorDefinition<C = unknown> {
  readonly kind: string
  /** The machine's own, stored with each snapshot. A machine whose states or context change shape takes the next number and a migration. */
  readonly version: number
  /** Brings a snapshot of an older version to this one. Absent: older versions load as they are. */
  readonly migrate?: (snapshot: StoredSnapshot, fromVersion: number) => StoredSnapshot
  readonly machine: AnyStateMachine
  /** The machine's context. What is loaded must have this shape; keys that it does not name may be there. */
  readonly context?: Schema.Schema<C>
  /**
   * Does one command and answers with the event of its outcome, if it has one. At-least-once: after a crash the same command
   * (same actor, same key) is done again. It is interrupted when a newer command of its lane supersedes it.
   * A defect is logged and the command tried again, with back-off, until it succeeds or is superseded.
   */
  readonly interpret: (command: PendingCommand, scope: CommandScope<C>) => Effect.Effect<AnyEvent | null>
  /** Commands of one lane exclude each other: a newer one supersedes an older one that is not done. Null: no lane. */
  readonly lane: (commandType: string) => string | null
  /** Told of each event that was answered without a transition. At once, and it must not throw. */
  readonly declined?: (event: DeclinedEvent) => void
}
