/** The highlighted parts of a drawing at one moment of an actor's life: its state, its last transition, and the possible next ones. */
import type { DrawnEdge, Statechart } from "./Statechart.ts"

/** One row of an actor's log. */
export interface LoggedTransition {
  /** Null: the actor's first entry. */
  readonly from: string | null
  readonly event: string
  readonly to: string
}

export interface Moment {
  readonly state: string
  /** The last transition; null: unknown. */
  readonly last: LoggedTransition | null
  /** Events that this state would accept now. */
  readonly nextEvents: ReadonlyArray<string>
}

/** Names of states, and ids of transitions, from the statechart. */
export interface Lit {
  readonly current: string
  /** The previous state; null at the beginning, after an internal transition, and if unknown. */
  readonly previous: string | null
  /** True: the last transition is the arrow from the initial dot. */
  readonly isBeginning: boolean
  /** Several if guards chose between transitions of one event to one state: the log does not say which. */
  readonly lastTransitions: ReadonlySet<string>
  readonly nextTransitions: ReadonlySet<string>
  /** Possible next states, besides the current one. */
  readonly nextStates: ReadonlySet<string>
}

export const litOf = ({ transitions }: Pick<Statechart, "transitions">, { state, last, nextEvents }: Moment): Lit => {
  const taken = transitions.filter(
    ({ from, event, to }) => last !== null && from === last.from && event === last.event && (to ?? from) === last.to
  )
  const possible = transitions.filter(({ from, event }) => from === state && nextEvents.includes(event))
  const ids = (listed: typeof transitions): ReadonlySet<string> => new Set(listed.map(({ id }) => id))
  return {
    current: state,
    previous: last === null || last.from === state ? null : last.from,
    isBeginning: last !== null && last.from === null,
    lastTransitions: ids(taken),
    nextTransitions: ids(possible),
    nextStates: new Set(possible.flatMap(({ to }) => (to === null || to === state ? [] : [to])))
  }
}

/** `taken`: the last transition is drawn by this edge; `next`: a possible next one is; otherwise empty. */
export const edgeRole = (lit: Lit | null, { lines }: Pick<DrawnEdge, "lines">): "taken" | "next" | "" => {
  if (lit === null) return ""
  const has = (found: ReadonlySet<string>) => lines.some(({ transitions }) => transitions.some((id) => found.has(id)))
  return has(lit.lastTransitions) ? "taken" : has(lit.nextTransitions) ? "next" : ""
}
