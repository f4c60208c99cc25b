/** A span as a test reads it, from any recorder. */
export interface SpanSeen {
  readonly name: string
  readonly traceId: string
  readonly attributes: ReadonlyMap<string, unknown>
  readonly hasEnded: boolean
  /** Names from it up to the root of its trace; a foreign span is its id. */
  readonly way: () => ReadonlyArray<string>
}

/** All that were recorded so far. */
export interface SpansSeen {
  readonly seen: ReadonlyArray<SpanSeen>
}
