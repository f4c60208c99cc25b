/**
 * One machine as plain data: all that a reader, a drawing or a table of it needs, without the machine itself.
 *
 * `npm run machines` writes it to `docs/machines/{kind}.json`, with the place of everything in `drawing`.
 */

/** What a transition, an entry or an exit asks the service to do after its commit. */
export interface Command {
  readonly name: string
  /** `schedule` and `unschedule` set and forget a named deadline. */
  readonly deadline: string | null
}

export interface ChartState {
  readonly name: string
  readonly description: string
  /** Nothing leads out of it. */
  readonly isFinal: boolean
  readonly tags: ReadonlyArray<string>
  readonly entry: ReadonlyArray<Command>
  readonly exit: ReadonlyArray<Command>
  /** Events that it answers with itself. */
  readonly unchanged: ReadonlyArray<string>
  /** Events that it refuses (also those whose guards all say no), with the reason's code. */
  readonly refuses: Readonly<Record<string, string>>
}

export interface ChartTransition {
  /** `from.EVENT.index`: index among the transitions of that event in that state, which are tried in order. */
  readonly id: string
  readonly from: string
  readonly event: string
  readonly guard: string | null
  /** Null: it stays, and neither leaves nor enters the state. */
  readonly to: string | null
  readonly commands: ReadonlyArray<Command>
  /** Actions that only note something in the context. */
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

/** Transitions that are written as one line. */
export interface DrawnLine {
  readonly event: string
  readonly guard: string | null
  readonly commands: ReadonlyArray<string>
  /** More than one where they differ only in what they note, or lead from every state. */
  readonly transitions: ReadonlyArray<string>
}

export interface DrawnState extends Box {
  readonly name: string
  /** What it takes without being left: written in its box. */
  readonly inner: ReadonlyArray<DrawnLine>
}

/** One line for all transitions from one state to another, or out of one and into it again. */
export interface DrawnEdge {
  /** `from>to`. */
  readonly id: string
  /** Null: every state; drawn from the box for any state. */
  readonly from: string | null
  readonly to: string
  /** From the border of `from` to that of `to`, with right angles only. */
  readonly points: ReadonlyArray<Point>
  readonly label: Box
  /** From above. */
  readonly lines: ReadonlyArray<DrawnLine>
}

export interface Drawing {
  readonly width: number
  readonly height: number
  readonly states: ReadonlyArray<DrawnState>
  /** The box that stands for any state; null where no edge needs it. */
  readonly anyState: Box | null
  readonly edges: ReadonlyArray<DrawnEdge>
  /** From the dot to the border of the initial state. */
  readonly initial: ReadonlyArray<Point>
}

export interface Statechart extends Description {
  readonly drawing: Drawing
}
