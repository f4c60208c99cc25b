/**
 * The newest events of one account, or of one of its Sandboxes, for all readers in this process. A reader is a number into it, so a slow reader costs
 * nothing. When the channel no longer keeps a reader's next events, the reader continues from the database.
 */
import { isBefore, type TransitionPosition } from "../../store/TransitionReads.ts"
import type { Frame } from "./Frame.ts"

const keptMaxBytes = 1024 * 1024

export interface ChannelReader {
  /** The number of the next event that it takes; null while it reads from the database. */
  readonly cursor: number | null
  /** Called when there may be new events. */
  readonly look: () => void
}

export class Channel {
  readonly readers = new Set<ChannelReader>()
  #frames: Array<Frame> = []
  #first = 0
  #bytes = 0
  /** The channel keeps all events after this position. */
  #after: TransitionPosition

  constructor(after: TransitionPosition) {
    this.#after = after
  }

  /** The number behind the newest event. */
  get end(): number {
    return this.#first + this.#frames.length
  }

  push(frame: Frame): void {
    this.#frames.push(frame)
    this.#bytes += frame.bytes.length
    if (this.#bytes <= keptMaxBytes) return
    let dropped = 0
    let left = this.#bytes
    while (left > keptMaxBytes / 2) left -= this.#frames[dropped++]!.bytes.length
    this.#forget(dropped)
  }

  /** Drops the events that every reader has taken. */
  trim(): void {
    let taken = this.end
    for (const { cursor } of this.readers) if (cursor !== null) taken = Math.min(taken, cursor)
    this.#forget(taken - this.#first)
  }

  /** The number of the first event after a position; null if the channel may no longer keep it. */
  find(position: TransitionPosition): number | null {
    if (isBefore(position, this.#after)) return null
    let at = this.#frames.length
    while (at > 0 && isBefore(position, this.#frames[at - 1]!.position)) at--
    return this.#first + at
  }

  /** Events from a number on, up to `maxBytes` and at least one; null when they are no longer kept. */
  take(from: number, maxBytes: number): ReadonlyArray<Frame> | null {
    if (from < this.#first) return null
    let to = from - this.#first
    let bytes = 0
    while (to < this.#frames.length && bytes < maxBytes) bytes += this.#frames[to++]!.bytes.length
    return this.#frames.slice(from - this.#first, to)
  }

  #forget(count: number): void {
    if (count <= 0) return
    const gone = this.#frames.splice(0, count)
    this.#first += count
    this.#after = gone[count - 1]!.position
    for (const { bytes } of gone) this.#bytes -= bytes.length
  }
}
