/** The compact part of a machine's file that the machine itself does not contain: a browser rebuilds the rest from the machine. */
import type { AnyStateMachine } from "xstate"
import { describe } from "./describe.ts"
import { drawingOf, type Places, placesOf } from "./places.ts"
import type { Named, Statechart } from "./Statechart.ts"

/** By name. */
type Descriptions = Readonly<Record<string, string>>

export interface Drawn {
  readonly events: Descriptions
  /** Descriptions of guards and commands. */
  readonly implementations: Descriptions
  readonly places: Places
  readonly overview: Places
}

const descriptionsOf = (named: ReadonlyArray<Named>): Descriptions =>
  Object.fromEntries(named.map(({ name, description }) => [name, description]))

export const drawnOf = ({ events, guards, commands, drawing, overview }: Statechart): Drawn => ({
  events: descriptionsOf(events),
  implementations: descriptionsOf([...guards, ...commands]),
  places: placesOf(drawing),
  overview: placesOf(overview)
})

/** Rebuilds the input of `drawnOf`. */
export const statechartOf = (
  machine: AnyStateMachine,
  { events, implementations, places, overview }: Drawn
): Statechart => {
  const description = describe(machine, {
    events: Object.entries(events).map(([name, description]) => ({ name, description })),
    implementations: new Map(Object.entries(implementations))
  })
  return {
    ...description,
    drawing: drawingOf(description, places, "detail"),
    overview: drawingOf(description, overview, "overview")
  }
}
