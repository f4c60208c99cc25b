/** What every call takes that waits for an answer. */
export interface Waiting {
  /** Ends the waiting; what was asked for may go on. */
  readonly signal?: AbortSignal | undefined
}
