/**
 * The form of a plain tunnel: one tunnelled connection on its own socket between service and agent.
 *
 *     service -> agent   TUNNEL 3000\n
 *     agent -> service   OPEN\n | PORT_CLOSED\n | REFUSED\n
 *     both ways          frames: a length (4 bytes, big endian) and as many bytes; the length 0 is the end of that direction, 2^32 - 1 is no frame
 *
 * A unix socket reports a closed peer and an ended one alike, so an end is a frame, and a socket that ends without it was broken: by the program's reset,
 * by a cut, or by the death of either process. The first byte tells a plain tunnel from HTTP/2, whose client begins with `PRI` and whose server begins
 * with a zero.
 */

/** Either side's first line, with its end. */
export const LINE_MAX_BYTES = 16
export const REQUEST_FIRST_BYTE = "T".charCodeAt(0)
export const HEAD_BYTES = 4
export const END_FRAME: Buffer = Buffer.alloc(HEAD_BYTES)
/** Passes nothing on. Who does not read, because the other side is behind, learns by writing it whether the peer is still there. */
export const NO_FRAME: Buffer = Buffer.alloc(HEAD_BYTES, 0xff)
const NO_LENGTH = 2 ** 32 - 1
/** The room for one read. A unix socket holds 208 KiB, so a larger one gains nothing. */
export const READ_BYTES = 128 * 1024

const PORT_MAX = 65_535

export const requestLine = (port: number): string => `TUNNEL ${port}\n`

/** Null for anything but a request for a TCP port. */
export const portIn = (line: string): number | null => {
  const port = Number(/^TUNNEL (\d{1,5})$/.exec(line)?.[1])
  return port >= 1 && port <= PORT_MAX ? port : null
}

export const answerLines = { open: "OPEN", portClosed: "PORT_CLOSED", refused: "REFUSED" } as const

/** Slices below this length are put together, so that many short frames do not become as many objects. */
const SMALL_BYTES = 1024

/** Takes the heads of frames out of the bytes of one direction. */
export class FrameCutter {
  /** Bytes of the present frame that have not come yet. */
  #left = 0
  #head = 0
  #headBytes = 0
  hasEnded = false

  /**
   * Calls `give` with the content, in order, as slices of `bytes` (which may be moved within it).
   *
   * @returns False if the end is followed by more than `NO_FRAME`.
   */
  cut(bytes: Buffer, give: (slice: Buffer) => void): boolean {
    let from = 0
    let to = 0
    for (let at = 0; at < bytes.length; ) {
      if (this.#left === 0) {
        if (!this.#readHead(bytes[at++]!)) return false
        continue
      }
      const length = Math.min(this.#left, bytes.length - at)
      const isShort = length < SMALL_BYTES || to - from < SMALL_BYTES
      if (to > from && isShort) {
        bytes.copyWithin(to, at, at + length)
        to += length
      } else {
        if (to > from) give(bytes.subarray(from, to))
        from = at
        to = at + length
      }
      at += length
      this.#left -= length
    }
    if (to > from) give(bytes.subarray(from, to))
    return true
  }

  #readHead(byte: number): boolean {
    this.#head = this.#head * 256 + byte
    if (++this.#headBytes < HEAD_BYTES) return true
    const length = this.#head
    this.#head = 0
    this.#headBytes = 0
    if (length === NO_LENGTH) return true
    if (this.hasEnded) return false
    this.hasEnded = length === 0
    this.#left = length
    return true
  }
}
