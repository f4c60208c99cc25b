/** Content of a file. */

/** Streams may be of Node or of the web: both are iterables of bytes. */
export type FileContent = string | Uint8Array | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>

/** Streams of the web are no iterables in every browser. */
export const iterable = (content: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> =>
  Symbol.asyncIterator in content ? content : chunksOf(content)

async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** All of it when it has at most so many bytes; else the bytes that were read, and the rest behind them. */
export const begun = async (
  content: AsyncIterable<Uint8Array>,
  mostBytes: number
): Promise<{ readonly whole: Blob } | { readonly all: AsyncGenerator<Uint8Array, void, undefined> }> => {
  const source = content[Symbol.asyncIterator]()
  const taken: Array<Uint8Array<ArrayBuffer>> = []
  let length = 0
  while (length <= mostBytes) {
    const next = await source.next()
    if (next.done === true) return { whole: new Blob(taken) }
    taken.push(next.value as Uint8Array<ArrayBuffer>)
    length += next.value.length
  }
  const all = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    for (let first = taken.shift(); first !== undefined; first = taken.shift()) yield first
    try {
      for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value
    } finally {
      await source.return?.()
    }
  }
  return { all: all() }
}
