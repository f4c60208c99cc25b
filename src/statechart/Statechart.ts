/**
 * One machine as plain data: everything that a reader, a drawing or a table needs, without the machine itself.
 *
 * `npm run machines` writes it to `docs/machines/{kind}.json`, with all positions in `drawing`.
 */

/** A command that a transition, an entry or an exit requests; the service runs it after the commit. */
export interface Command {
  readonly name: string
  /** The name of the deadline that `schedule` and `unschedule` set and clear. */
  readonly deadline: string | null
}

export interface ChartState {
  readonly name: string
  readonly description: string
  /** No transition leaves it. */
  readonly isFinal: boolean
  readonly tags: ReadonlyArray<string>
  readonly entry: ReadonlyArray<Command>
  readonly exit: ReadonlyArray<Command>
  /** Events that leave it unchanged. */
  readonly unchanged: ReadonlyArray<string>
  /** Events that it refuses (also those that no guard accepts), with the reason's code. */
  readonly refuses: Readonly<Record<string, string>>
}

export interface ChartTransition {
  /** `from.EVENT.index`: index among the transitions of that event in that state, which are tried in order. */
  readonly id: string
  readonly from: string
  readonly event: string
  readonly guard: string | null
  /** Null: an internal transition, without exit and entry. */
  readonly to: string | null
  readonly commands: ReadonlyArray<Command>
  /** Actions that only change the context. */
  readonly notes: ReadonlyArray<string>
  readonly description: string
}

export interface Named {
  readonly name: string
  readonly description: string
}

export interface Description {
  readonly kind: string
  readonly version: number
  readonly description: string
  readonly initial: string
  readonly states: ReadonlyArray<ChartState>
  readonly events: ReadonlyArray<Named>
  readonly transitions: ReadonlyArray<ChartTransition>
  readonly guards: ReadonlyArray<Named>
  readonly commands: ReadonlyArray<Named>
}

/** All lengths in SVG user units, from the drawing's upper left corner. */
export interface Point {
  readonly x: number
  readonly y: number
}

export interface Box extends Point {
  readonly width: number
  readonly height: number
}

/** Transitions that share one line of text. */
export interface DrawnLine {
  readonly event: string
  readonly guard: string | null
  readonly commands: ReadonlyArray<string>
  /** Several if they differ only in what the line does not show, or lead from every state. */
  readonly transitions: ReadonlyArray<string>
}

export interface DrawnState extends Box {
  readonly name: string
  /** Internal transitions, written in its box. */
  readonly inner: ReadonlyArray<DrawnLine>
}

/** One line for all transitions between two states, or from a state to itself. */
export interface DrawnEdge {
  /** `from>to`. */
  readonly id: string
  /** Null: every state; the line starts at the box for any state. */
  readonly from: string | null
  readonly to: string
  /** From the border of `from` to the border of `to`, with right angles only. */
  readonly points: ReadonlyArray<Point>
  readonly label: Box
  /** From top to bottom. */
  readonly lines: ReadonlyArray<DrawnLine>
}

export interface Drawing {
  readonly width: number
  readonly height: number
  readonly states: ReadonlyArray<DrawnState>
  /** The box for any state; null if no edge needs it. */
  readonly anyState: Box | null
  readonly edges: ReadonlyArray<DrawnEdge>
  /** From the dot to the border of the initial state. */
  readonly initial: ReadonlyArray<Point>
}

export interface Statechart extends Description {
  readonly drawing: Drawing
  /** Names of states and events only. */
  readonly overview: Drawing
}
