/** What a state says of the events it has no transition for; together with `on` it accounts for every (state, event) pair. */
export interface StateMeta {
  /** Answered with the present snapshot: nothing changes, nothing is committed. */
  readonly unchanged: ReadonlyArray<string>
  /** Event type to the typed reason of the refusal; also used when the guards of a transition all say no. */
  readonly refuses: Readonly<Record<string, string>>
}
