/** A machine with its diagram. */
import type { AnyStateMachine } from "xstate"
import { type Drawn, statechartOf } from "../../../statechart/drawn.ts"
import type { Statechart } from "../../../statechart/Statechart.ts"

export interface Kind {
  readonly kind: string
  readonly title: string
  readonly machine: AnyStateMachine
  readonly chart: Statechart
}

/** With the simulator's default input and events. */
export interface SimulatedKind extends Kind {
  /** The simulator's input at an instant (epoch milliseconds). */
  readonly input: (at: number) => object
  /** By event: its fields besides `type` and `at`. */
  readonly parameters: Readonly<Record<string, (context: never) => object>>
}

/** @param file The output of `npm run machines`, or the bundle's reduced form of it. */
export const chartOf = (machine: AnyStateMachine, file: unknown): Statechart =>
  "drawing" in (file as Drawn | Statechart) ? (file as Statechart) : statechartOf(machine, file as Drawn)
