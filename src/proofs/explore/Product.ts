/**
 * What is explored: a product of actors, each an XState machine, and the environment that runs their commands.
 *
 * A command's outcomes, what clients do and what the world does are lists of steps; the explorer takes each of them in each state.
 */
import type { AnyStateMachine } from "xstate"
import type { AnyEvent } from "../../engine/ActorDefinition.ts"

/** Who takes a step. A fault may never come: liveness does not count on it. */
export type By = "service" | "time" | "world" | "client" | "fault"
export const everyBy: ReadonlyArray<By> = ["service", "time", "world", "client", "fault"]

/** A pending command. `answer`: its result was sent, and the actor has not handled it. */
export interface Pending {
  readonly type: string
  readonly params: Readonly<Record<string, unknown>>
  readonly answer?: AnyEvent
}

/** An actor as environments and invariants see it; a read of its context is recorded. */
export interface ActorView {
  readonly id: string
  readonly kind: string
  readonly state: string
  readonly tags: ReadonlySet<string>
  // biome-ignore lint/suspicious/noExplicitAny: machines differ in their contexts, and the explorer knows none of them.
  readonly context: any
  readonly commands: ReadonlyArray<Pending>
  /** Names of its deadlines that have passed, and are about to fire. */
  readonly due: ReadonlyArray<string>
  /** Results of commands that were superseded, still on their way. */
  readonly late: ReadonlyArray<AnyEvent>
}

export interface ProductView<W> {
  readonly world: W
  /** Null: there is no such actor at present. */
  readonly actor: (name: string) => ActorView | null
  readonly actors: ReadonlyArray<ActorView>
}

/** The effects of a step, in this order: the world, new actors, events to others, the command's answer to its own actor. */
export interface Outcome<W> {
  readonly label: string
  readonly world?: W
  readonly makes?: ReadonlyArray<{ readonly name: string; readonly input: unknown }>
  readonly removes?: ReadonlyArray<string>
  readonly tells?: ReadonlyArray<{ readonly to: string; readonly event: AnyEvent }>
  /** The command's result; absent: it ends without an event. */
  readonly answer?: AnyEvent
  /** The command goes on. */
  readonly goesOn?: boolean
  /** It may never come: liveness does not count on it. */
  readonly isFault?: boolean
}

export interface Happening<W> extends Outcome<W> {
  readonly by: By
  readonly isUrgent?: boolean
}

/** No outcome: the command waits, or retries, until something else happens. */
export type Outcomes<W> = (
  self: ActorView,
  // biome-ignore lint/suspicious/noExplicitAny: commands differ in their params.
  params: any,
  product: ProductView<W>
) => ReadonlyArray<Outcome<W>>

export interface CommandTable<W> {
  readonly lane: string | null
  readonly outcomes: Outcomes<W>
  /**
   * Nothing else happens before it. For a step that changes nothing which another step, or an invariant, depends on: in which order it comes makes no
   * difference then, so one order is enough. It has one outcome.
   */
  readonly isUrgent?: boolean
}

export interface ActorKind<W> {
  readonly machine: AnyStateMachine
  /** Several are alike: a product state does not tell which is which. */
  readonly names: ReadonlyArray<string>
  /** Input of the actors that exist from the start; absent: steps make them. */
  readonly input?: unknown
  readonly commands: Readonly<Record<string, CommandTable<W>>>
}

export interface Delivery {
  readonly to: string
  readonly event: AnyEvent
  readonly verdict: "accepted" | "unchanged" | "refused" | "made" | "removed"
  /** Of a refusal. */
  readonly code: string | null
  /** Null: there was no actor. */
  readonly from: string | null
  readonly state: string | null
  /** Types of the commands that it asked for. */
  readonly asked: ReadonlyArray<string>
}

export interface Step {
  readonly by: By
  readonly label: string
  readonly deliveries: ReadonlyArray<Delivery>
}

/** Null: it holds; else what breaks it. */
export interface StateInvariant<W> {
  readonly sentence: string
  readonly broken: (product: ProductView<W>) => string | null
}

export interface EdgeInvariant<W> {
  readonly sentence: string
  readonly broken: (before: ProductView<W>, step: Step, after: ProductView<W>) => string | null
}

/** From every state of `from` a path of fair steps leads to one of `to`. */
export interface Liveness<W> {
  readonly sentence: string
  readonly from: (product: ProductView<W>) => boolean
  readonly to: (product: ProductView<W>) => boolean
  readonly by: ReadonlyArray<By>
}

export interface Product<W> {
  readonly name: string
  readonly kinds: ReadonlyArray<ActorKind<W>>
  readonly world: W
  readonly happenings: (product: ProductView<W>) => ReadonlyArray<Happening<W>>
  /** Fields that count, in contexts, events, params and the world: their values are renumbered in their order; 1 stays 1. */
  readonly counters: ReadonlyArray<string>
  /** How many answers may be late in one actor: heard after other events, lost by a crash, or repeated after one. 0: an answer follows its command immediately. */
  readonly lateMax: number
  readonly states: ReadonlyArray<StateInvariant<W>>
  readonly edges: ReadonlyArray<EdgeInvariant<W>>
  readonly liveness: ReadonlyArray<Liveness<W>>
}
