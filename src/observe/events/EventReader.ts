/**
 * One open stream. It takes events from its channel; when the channel keeps too few, it reads the database until it has caught up. It holds only the
 * events that are being sent, so a client that reads slowly, or not at all, costs one piece.
 */
import { isBefore, type TransitionPage, type TransitionPosition } from "../../store/TransitionReads.ts"
import type { AccountTail } from "./AccountTail.ts"
import type { Channel, ChannelReader } from "./Channel.ts"
import { frameOf, heartbeat, placeFrame } from "./Frame.ts"

const pieceMaxBytes = 64 * 1024

export interface ReaderSource {
  readonly tail: AccountTail
  readonly channel: Channel
  /** Reads from a position on. Calls back with null when that failed for good. */
  readonly read: (after: TransitionPosition, then: (page: TransitionPage | null) => void) => void
  readonly closed: () => void
}

export class EventReader implements ChannelReader {
  cursor: number | null = null
  readonly #source: ReaderSource
  readonly #sandboxId: string | null
  /** Everything up to here was delivered. */
  #position: TransitionPosition
  #asked: ((piece: Buffer | null) => void) | null = null
  #ready: Buffer | null
  #isReading = false
  #isBeatDue = false
  #isClosed = false

  constructor(source: ReaderSource, sandboxId: string | null, position: TransitionPosition) {
    this.#source = source
    this.#sandboxId = sandboxId
    this.#position = position
    this.#ready = placeFrame(source.tail, position, "from here on")
    source.channel.readers.add(this)
  }

  get tail(): AccountTail {
    return this.#source.tail
  }

  /** Calls back once with whole events, or with null when the stream is over. Must not be called again before it has called back. */
  next(then: (piece: Buffer | null) => void): void {
    this.#asked = then
    this.look()
  }

  beat(): void {
    this.#isBeatDue = true
    this.look()
  }

  readonly close = (): void => {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#source.channel.readers.delete(this)
    this.#source.closed()
    this.look()
  }

  readonly look = (): void => {
    const asked = this.#asked
    if (asked === null) return
    const piece = this.#piece()
    if (piece === undefined) return
    this.#asked = null
    asked(piece)
  }

  /** The next piece; null at the end; undefined when there is none yet. */
  #piece(): Buffer | null | undefined {
    if (this.#isClosed) return null
    const ready = this.#ready
    if (ready !== null) {
      this.#ready = null
      return ready
    }
    return this.#isReading ? this.#beat() : (this.#fromChannel() ?? this.#beat())
  }

  /** Undefined when the channel has nothing new, or keeps too little; then the database is read. */
  #fromChannel(): Buffer | undefined {
    const { channel } = this.#source
    this.cursor ??= channel.find(this.#position)
    while (this.cursor !== null) {
      const frames = channel.take(this.cursor, pieceMaxBytes)
      if (frames === null) break
      if (frames.length === 0) return undefined
      this.cursor += frames.length
      // The database may already have returned more than the tail.
      const fresh = frames.filter(({ position }) => isBefore(this.#position, position))
      if (fresh.length === 0) continue
      this.#position = fresh[fresh.length - 1]!.position
      return fresh.length === 1 ? fresh[0]!.bytes : Buffer.concat(fresh.map(({ bytes }) => bytes))
    }
    this.cursor = null
    this.#readOn()
    return undefined
  }

  #beat(): Buffer | undefined {
    if (!this.#isBeatDue) return undefined
    this.#isBeatDue = false
    if (this.cursor === null) return heartbeat
    // Everything up to the tail's end was delivered. So the position of a quiet Sandbox's stream does not age with its last event.
    const { upTo } = this.#source.tail
    if (upTo !== null && isBefore(this.#position, upTo)) this.#position = upTo
    return placeFrame(this.#source.tail, this.#position, "heartbeat")
  }

  #readOn(): void {
    this.#isReading = true
    this.#source.read(this.#position, (page) => {
      this.#isReading = false
      // Events that retention has deleted meanwhile cannot be sent: the client learns of it when it reconnects.
      if (page === null || page.isStale) return this.close()
      const frames = page.rows
        .filter((row) => this.#sandboxId === null || row.sandboxId === this.#sandboxId)
        .map((row) => frameOf(this.#source.tail, row).bytes)
      this.#position = page.upTo
      if (frames.length > 0) this.#ready = Buffer.concat(frames)
      this.look()
    })
  }
}
