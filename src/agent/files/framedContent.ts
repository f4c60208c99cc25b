/**
 * Content whose length is not known in advance: frames of 4 bytes of length (big-endian) and that many bytes; length 0 is the end.
 *
 * A cancelled stream may look complete to the other side (Node's `close` ends a stream before it resets it), so only that last frame proves that
 * everything has arrived.
 */
import { constants, type ServerHttp2Stream } from "node:http2"
import { Refusal } from "../routes.ts"

/** A reader that takes nothing for this long is given up. */
const stalledMs = 300_000
/** The same if another call waits for its slot. */
const stalledWhenAwaitedMs = 10_000
const lookEveryMs = 1_000

/** Extracts the content from its frames. */
export async function* framedContent(stream: ServerHttp2Stream): AsyncGenerator<Uint8Array> {
  const header = Buffer.alloc(4)
  let headerBytes = 0
  let frameBytes = 0
  // A refusal ends the loop early; the stream must survive to carry the answer.
  for await (const piece of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    let rest = piece
    while (rest.byteLength > 0) {
      if (frameBytes === 0) {
        const taken = rest.copy(header, headerBytes)
        rest = rest.subarray(taken)
        headerBytes += taken
        if (headerBytes < header.byteLength) break
        headerBytes = 0
        frameBytes = header.readUInt32BE()
        if (frameBytes === 0) return
      } else {
        const content = rest.subarray(0, frameBytes)
        rest = rest.subarray(content.byteLength)
        frameBytes -= content.byteLength
        yield content
      }
    }
  }
  throw new Refusal(400, "INVALID_REQUEST", "The body broke off")
}

/** Resolves when the reader has taken what was written, or the stream has ended. */
export const drained = (stream: ServerHttp2Stream): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      stream.off("drain", done).off("close", done)
      resolve()
    }
    stream.on("drain", done).on("close", done)
    if (stream.destroyed) done()
  })

/** The same, and ends the stream of a reader that takes nothing. */
const drainedInTime = async (stream: ServerHttp2Stream, isAwaited: () => boolean): Promise<void> => {
  const since = performance.now()
  const looking = setInterval(() => {
    const stalled = performance.now() - since
    if (stalled >= stalledMs || (stalled >= stalledWhenAwaitedMs && isAwaited())) stream.close(constants.NGHTTP2_CANCEL)
  }, lookEveryMs)
  await drained(stream)
  clearInterval(looking)
}

const frameHead = (bytes: number): Buffer => {
  const head = Buffer.allocUnsafe(4)
  head.writeUInt32BE(bytes)
  return head
}

/**
 * Answers with content, at the pace of its reader. A failure before the first piece can still be answered as a refusal.
 * @param isAwaited Whether another call waits until this one has ended.
 */
export const sendFramed = async (
  stream: ServerHttp2Stream,
  content: AsyncGenerator<Uint8Array>,
  isAwaited: () => boolean
): Promise<void> => {
  try {
    let next = await content.next()
    if (stream.destroyed || stream.closed) return
    stream.respond({ ":status": 200, "content-type": "application/octet-stream" })
    for (; !next.done; next = await content.next()) {
      if (next.value.byteLength === 0) continue
      stream.cork()
      stream.write(frameHead(next.value.byteLength))
      const isTaken = stream.write(next.value)
      stream.uncork()
      if (!isTaken) await drainedInTime(stream, isAwaited)
      if (stream.destroyed) return
    }
    stream.end(frameHead(0))
  } finally {
    await content.return(undefined)
  }
}
