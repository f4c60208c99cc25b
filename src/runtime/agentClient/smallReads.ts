/**
 * Puts the small pieces of an HTTP/2 stream together before they wait for a reader.
 *
 * A window bounds bytes, and not pieces: Node makes a Buffer of each DATA frame, whatever its length. An agent that sends a window of 256 KiB in
 * frames of one byte to a reader that does not read (a visitor of a preview) took 20 MB of the service for one stream; now it takes the window.
 */
import type { Duplex } from "node:stream"

/** A piece of this length costs little beside its bytes. */
const SMALL_BYTES = 1024
const GATHERED_BYTES = 16 * 1024
/** For a reader that is behind anyhow. One that is not gets everything as soon as the session has read it. */
const BEHIND_MS = 50

/** The same stream. */
export const withGatheredReads = <Stream extends Duplex>(stream: Stream): Stream => {
  const push = stream.push.bind(stream)
  let gathered: Buffer | null = null
  let used = 0
  let timer: NodeJS.Timeout | null = null

  const flush = () => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    if (used === 0 || gathered === null) return true
    const piece = gathered.subarray(0, used)
    // A large one is passed on as it is, and a small one without the room that it leaves.
    if (used < GATHERED_BYTES / 2) {
      used = 0
      return stream.destroyed || push(Buffer.from(piece))
    }
    gathered = null
    used = 0
    return stream.destroyed || push(piece)
  }

  stream.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (!Buffer.isBuffer(chunk) || chunk.length >= SMALL_BYTES) {
      flush()
      return push(chunk, encoding)
    }
    if (used + chunk.length > GATHERED_BYTES) flush()
    gathered ??= Buffer.allocUnsafeSlow(GATHERED_BYTES)
    gathered.set(chunk, used)
    if (used === 0) {
      if (stream.readableLength === 0) process.nextTick(flush)
      else timer = setTimeout(flush, BEHIND_MS)
    }
    used += chunk.length
    return true
  }
  stream.once("close", () => {
    if (timer !== null) clearTimeout(timer)
    gathered = null
    used = 0
  })
  return stream
}
