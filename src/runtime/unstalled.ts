/** Passes chunks on, and calls `stalled` when the consumer asks for no further one within `ms` of the last. */
export async function* unstalled<A>(
  chunks: AsyncIterable<A>,
  ms: number,
  stalled: () => void
): AsyncGenerator<A, void, undefined> {
  let timer: NodeJS.Timeout | undefined
  try {
    for await (const chunk of chunks) {
      timer = setTimeout(stalled, ms).unref()
      yield chunk
      clearTimeout(timer)
    }
  } finally {
    clearTimeout(timer)
  }
}
