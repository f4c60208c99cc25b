/** One kind of actor: the machine, its version, and the handler of each command. */
import type { Effect, Schema } from "effect"
import type { AnyStateMachine } from "xstate"
import type { StoredSnapshot } from "../store/JournalRecord.ts"

/** An event without its timestamp, which the host adds. */
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

/** The actor of a running command. */
export interface CommandScope<C = unknown, E = AnyEvent> {
  /** The command's `revision.index`, the same for each try. */
  readonly key: string
  /** The actor's present committed state, which may change while a long command runs. */
  readonly state: () => ActorState<C>
  /** Sends an event to the command's actor and returns immediately; a refusal is not an error. */
  readonly tell: (event: E) => Effect.Effect<void>
}

/** An event that the machine rejected; nothing is committed for it. */
export interface DeclinedEvent {
  readonly actorId: string
  /** The revision at which the event was rejected. */
  readonly revision: number
  readonly state: string
  /** Epoch milliseconds, never earlier than the previous transition. */
  readonly at: number
  readonly event: AnyEvent
  /** The machine's code for the refusal; null: the state ignored the event. */
  readonly code: string | null
  readonly cause: string
  readonly requestId: string | null
}

export interface CommandHandler<C, E, P> {
  /** Commands of one lane exclude each other: a newer command supersedes a pending older one. Null: no lane. */
  readonly lane: string | null
  /**
   * Runs one command and returns its result as an event, if it has one. At-least-once: after a crash the same command
   * (same actor, same key) runs again. A newer command of its lane interrupts it.
   * A defect is logged, and the command retried with back-off until it succeeds or is superseded.
   */
  readonly run: (scope: CommandScope<C, E>, params: P) => Effect.Effect<E | null>
  /**
   * Asked when a transition has the command: true if it may be lost. It runs after the commit all the same, but is not stored as pending, which saves
   * the commit that would note its end; a process that ends loses it. For what only frees room. Absent: it is always stored.
   */
  readonly isBestEffort?: (context: C) => boolean
}

/** What the host needs to run a kind. `defineActor` makes it, and checks every type against the machine. */
export interface ActorDefinition<M extends AnyStateMachine = AnyStateMachine> {
  readonly kind: string
  /** The machine's version, stored with each snapshot. A change to the shape of its states or context needs the next number and a migration. */
  readonly version: number
  /**
   * Converts a snapshot of an older version when it is loaded. The first commit stores the result together with this version, so no snapshot is
   * converted twice. Absent: older versions load unchanged.
   */
  readonly migrate?: ((snapshot: StoredSnapshot, fromVersion: number) => StoredSnapshot) | undefined
  /** The present name of a pending command that an earlier version stored. Absent: no command was renamed. */
  readonly presentCommand?: ((value: string, command: string) => string) | undefined
  readonly machine: M
  /** The machine's context. A loaded context must have this shape; further keys are allowed. */
  readonly context?: Schema.Schema<unknown> | undefined
  /** Handlers by the machine's name of the command. */
  readonly commands: Readonly<Record<string, CommandHandler<unknown, AnyEvent, unknown>>>
  /** Called synchronously for each event that was answered without a transition; it must not throw. */
  readonly declined?: ((event: DeclinedEvent) => void) | undefined
}
