/** A machine with its drawing. */
import type { AnyStateMachine } from "xstate"
import { type Drawn, statechartOf } from "../../../statechart/drawn.ts"
import type { Statechart } from "../../../statechart/Statechart.ts"

export interface Kind {
  readonly kind: string
  readonly title: string
  readonly machine: AnyStateMachine
  readonly chart: Statechart
}

/** With what its simulator begins with and sends when nobody changes it. */
export interface SimulatedKind extends Kind {
  /** What its simulator begins with at an instant (epoch milliseconds). */
  readonly input: (at: number) => object
  /** By event: its fields besides `type` and `at`. */
  readonly parameters: Readonly<Record<string, (context: never) => object>>
}

/** @param file What `npm run machines` made of the machine, or what the bundle keeps of it. */
export const chartOf = (machine: AnyStateMachine, file: unknown): Statechart =>
  "drawing" in (file as Drawn | Statechart) ? (file as Statechart) : statechartOf(machine, file as Drawn)
