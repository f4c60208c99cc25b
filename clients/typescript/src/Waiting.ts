/** Options of every call that waits for an answer. */
export interface Waiting {
  /** Ends the wait; the request may still be applied. */
  readonly signal?: AbortSignal | undefined
}
