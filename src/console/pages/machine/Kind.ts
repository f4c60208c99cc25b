/** A machine with its drawing. */
import type { AnyStateMachine } from "xstate"
import { describe } from "../../../statechart/describe.ts"
import { drawingOf, type Places } from "../../../statechart/places.ts"
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
interface Drawn extends Pick<Statechart, "events" | "guards" | "commands"> {
  readonly places: Places
}

/** @param file What `npm run machines` made of the machine, or what the bundle keeps of it. */
export const chartOf = (machine: AnyStateMachine, file: unknown): Statechart => {
  if ("drawing" in (file as Drawn | Statechart)) return file as Statechart
  const { events, guards, commands, places } = file as Drawn
  const implementations = new Map([...guards, ...commands].map(({ name, description }) => [name, description]))
  const description = describe(machine, { events, implementations })
  return { ...description, drawing: drawingOf(description, places) }
}
