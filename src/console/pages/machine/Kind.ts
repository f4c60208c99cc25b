/** A machine with its drawing. */
import type { AnyStateMachine } from "xstate"
import { describe } from "../../../statechart/describe.ts"
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

/** What of a Statechart no running machine has. */
type Drawn = Pick<Statechart, "events" | "guards" | "commands" | "drawing">

/** @param file What `npm run machines` made of the machine, of which the bundle keeps no more than this reads. */
export const chartOf = (machine: AnyStateMachine, file: unknown): Statechart => {
  const { events, guards, commands, drawing } = file as Drawn
  const implementations = new Map([...guards, ...commands].map(({ name, description }) => [name, description]))
  return { ...describe(machine, { events, implementations }), drawing }
}
