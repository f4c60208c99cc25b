/** A span as a test looks at it, whoever recorded it. */
export interface SpanSeen {
  readonly name: string
  readonly traceId: string
  readonly attributes: ReadonlyMap<string, unknown>
  readonly hasEnded: boolean
  /** Names from it up to whatever began its trace; a span of somebody else is its id. */
  readonly way: () => ReadonlyArray<string>
}

/** All that were recorded so far. */
export interface SpansSeen {
  readonly seen: ReadonlyArray<SpanSeen>
}
