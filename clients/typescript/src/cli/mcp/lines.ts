/** Lines of text from a stream of bytes. */
import type { Readable } from "node:stream"

/** Longer than any message that the service accepts. */
const lineMaxBytes = 8 * 1024 * 1024

const lineEnd = 0x0a

/** Each without its end, without empty ones; null for one that exceeds the bound. The last one needs no end. */
export async function* lines(stream: Readable): AsyncGenerator<string | null, void, undefined> {
  let begun: Array<Buffer> = []
  let bytes = 0
  const add = (piece: Buffer): void => {
    bytes += piece.length
    if (bytes <= lineMaxBytes) begun.push(piece)
    else begun = []
  }
  const taken = (): string | null => {
    const line = bytes > lineMaxBytes ? null : Buffer.concat(begun).toString().trim()
    begun = []
    bytes = 0
    return line
  }
  for await (const chunk of stream) {
    let rest: Buffer = chunk
    for (let at = rest.indexOf(lineEnd); at !== -1; at = rest.indexOf(lineEnd)) {
      add(rest.subarray(0, at))
      rest = rest.subarray(at + 1)
      const line = taken()
      if (line !== "") yield line
    }
    add(rest)
  }
  const last = taken()
  if (last !== "") yield last
}
