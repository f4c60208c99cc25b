/** A machine with its drawing, and with what its simulator begins with and sends when nobody changes it. */
import type { AnyStateMachine } from "xstate"
import type { Statechart } from "../../../statechart/Statechart.ts"

export interface Kind {
  readonly kind: string
  readonly title: string
  readonly machine: AnyStateMachine
  readonly chart: Statechart
  /** What its simulator begins with at an instant (epoch milliseconds). */
  readonly input: (at: number) => object
  /** By event: its fields besides `type` and `at`. */
  readonly parameters: Readonly<Record<string, (context: never) => object>>
}

// The files are what `npm run machines` makes of a Statechart; TypeScript widens what it reads from JSON.
export const chart = (json: unknown) => json as Statechart
