/** One machine kind as the host sees it: the machine, its version, and the handler of each of its commands. */
import type { Effect, Schema } from "effect"
import type { AnyStateMachine } from "xstate"
import type { StoredSnapshot } from "../store/JournalRecord.ts"

/** An event without its instant, which the host adds. */
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

/** The actor of a command, while the command runs. */
export interface CommandScope<C = unknown, E = AnyEvent> {
  /** `revision.index` of the command: the same for each try. */
  readonly key: string
  /** The committed state at this moment (it moves on while a long command runs). */
  readonly state: () => ActorState<C>
  /** Sends an event to the command's actor and returns immediately; a refusal is not an error. */
  readonly tell: (event: E) => Effect.Effect<void>
}

/** An event that the machine rejected; nothing is committed for it. */
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

export interface CommandHandler<C, E, P> {
  /** Commands of one lane exclude each other: a newer one supersedes an older one that is not done. Null: no lane. */
  readonly lane: string | null
  /**
   * Runs one command and returns the event of its outcome, if it has one. At-least-once: after a crash the same command
   * (same actor, same key) runs again. It is interrupted when a newer command of its lane supersedes it.
   * A defect is logged and the command tried again, with back-off, until it succeeds or is superseded.
   */
  readonly run: (scope: CommandScope<C, E>, params: P) => Effect.Effect<E | null>
}

/** What the host needs of a kind. `defineActor` makes it, with every type checked against the machine. */
export interface ActorDefinition<M extends AnyStateMachine = AnyStateMachine> {
  readonly kind: string
  /** The machine's version, stored with each snapshot. A machine whose states or context change shape takes the next number and a migration. */
  readonly version: number
  /** Brings a snapshot of an older version to this one. Absent: older versions load as they are. */
  readonly migrate?: ((snapshot: StoredSnapshot, fromVersion: number) => StoredSnapshot) | undefined
  /** The present name of a pending command that an earlier version stored. Absent: no command was renamed. */
  readonly presentCommand?: ((value: string, command: string) => string) | undefined
  readonly machine: M
  /** The machine's context. What is loaded must have this shape; keys that it does not name may be there. */
  readonly context?: Schema.Schema<unknown> | undefined
  /** By the machine's name of the command. */
  readonly commands: Readonly<Record<string, CommandHandler<unknown, AnyEvent, unknown>>>
  /** Called for each event that was answered without a transition, synchronously; it must not throw. */
  readonly declined?: ((event: DeclinedEvent) => void) | undefined
}
