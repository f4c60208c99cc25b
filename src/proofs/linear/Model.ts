/**
 * A sequential specification, and what clients saw of the thing that it specifies.
 *
 * The specification may be nondeterministic: a step may lead to several states, and silent steps happen by themselves. A state is plain data.
 */

/** One call of one client. Times are of one monotonic clock. */
export interface Call<C, A> {
  readonly client: string
  readonly does: C
  readonly invokedAt: number
  /** Null: the client lost it. It may have taken effect at any time since, or never. */
  readonly answered: { readonly at: number; readonly answer: A } | null
}

export type History<C, A> = ReadonlyArray<Call<C, A>>

/** What a whole history says of each moment in it. It saves time, and changes no verdict. */
export interface Foresight<S, C, A> {
  /** Without lost calls of which no answer could tell. */
  readonly history: History<C, A>
  /** False: some answer of the history can never be given from this state on. */
  readonly isPossible: (state: S) => boolean
}

export interface Model<S, C, A> {
  /** The states in which it may begin. */
  readonly first: ReadonlyArray<S>
  /**
   * The states after this moment of the call; none: it cannot have happened in this state, or not with this answer.
   *
   * @param answer Null: it is unknown.
   * @param moment From 0 to `moments` - 1.
   */
  readonly step: (state: S, does: C, answer: A | null, moment: number) => ReadonlyArray<S>
  /** The states to which it may change by itself, by one change each. */
  readonly silent: (state: S) => ReadonlyArray<S>
  /** How many moments a call has, which happen in this order between its begin and its answer. Most have one. */
  readonly moments: (does: C) => number
  /** In no state does this moment of the call, so answered, change anything; it may only tell which of several states it is. */
  readonly isRead: (does: C, answer: A | null, moment: number) => boolean
  /** Absent: the search learns from nothing but the steps. */
  readonly foresee?: (history: History<C, A>) => Foresight<S, C, A>
  /** Two states are the same if their keys are. */
  readonly keyOf: (state: S) => string
  /** For people. */
  readonly callText: (does: C, answer: A | null) => string
  readonly stateText: (state: S) => string
}

export const isReadCall = <S, C, A>(model: Model<S, C, A>, { does, answered }: Call<C, A>): boolean => {
  const answer = answered?.answer ?? null
  for (let moment = 0; moment < model.moments(does); moment++) if (!model.isRead(does, answer, moment)) return false
  return true
}

/** The calls of each key, in their order: histories of things that do not depend on each other are checked one by one. */
export const partitioned = <C, A>(
  history: History<C, A>,
  keyOf: (does: C) => string
): ReadonlyMap<string, History<C, A>> => Map.groupBy(history, ({ does }) => keyOf(does))
