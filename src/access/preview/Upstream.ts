/**
 * Kept-alive connections to one preview's program for plain exchanges: a request without a body, and an answer of a known length.
 *
 * `http.request` with its Agent and its parser took more of a small answer's time than everything else in the service, so these exchanges are written and
 * read here. What simpleAnswer.ts does not know is handed to node:http, from its first byte on.
 */
import { Duplex } from "node:stream"
import { type InPlace, readEach } from "../../runtime/readInPlace.ts"
import { atTurnsEnd } from "../gateway/turnsEnd.ts"

export type Dial = () => Promise<Duplex>

/** A connection in use, or kept for the next request. */
export class Upstream {
  readonly #stream: Duplex
  #take: InPlace | null = null
  #broke: ((cause: Error) => void) | null = null
  isReused = false

  constructor(stream: Duplex, onClose: (closed: Upstream) => void) {
    this.#stream = stream
    readEach(stream, (piece) => {
      if (this.#take !== null) return this.#take(piece)
      // Bytes that no request asked for: the next answer would be another request's.
      stream.destroy()
      return true
    })
    // The program may end an idle connection; it is then useless, although its other half is open.
    stream.once("end", () => stream.destroy())
    stream.once("close", () => {
      onClose(this)
      this.#broke?.(stream.errored ?? new Error("The program closed the connection."))
    })
  }

  get isOpen(): boolean {
    return !this.#stream.destroyed && !this.#stream.readableEnded
  }

  /** Sends the request. `take` gets the answer's bytes; `broke` is called if the connection closes before `free`. */
  ask(head: string, take: InPlace, broke: (cause: Error) => void): void {
    this.#take = take
    this.#broke = broke
    atTurnsEnd(() => this.#stream.write(head, "latin1"))
  }

  hold(): void {
    this.#stream.pause()
  }

  goOn(): void {
    this.#stream.resume()
  }

  /** The exchange is complete. */
  free(): void {
    this.#take = null
    this.#broke = null
    this.isReused = true
    this.#stream.resume()
  }

  /** The same connection for a parser: it reads `first` and what follows. What is written to it was sent before. */
  replayed(first: Buffer): Duplex {
    const stream = this.#stream
    const replay = new Duplex({
      read: () => void stream.resume(),
      write: (_chunk, _encoding, done) => done(),
      destroy: (cause, done) => {
        stream.destroy()
        done(cause)
      }
    })
    replay.push(Buffer.from(first))
    this.#take = (piece) => {
      if (!replay.push(Buffer.from(piece))) stream.pause()
      return true
    }
    this.#broke = (cause) => void (stream.readableEnded ? replay.push(null) : replay.destroy(cause))
    return replay
  }

  destroy(): void {
    this.#stream.destroy()
  }
}

export class Upstreams {
  readonly #dial: Dial
  readonly #all = new Set<Upstream>()
  readonly #free: Array<Upstream> = []
  readonly #freeMax: number
  #isDestroyed = false

  constructor(dial: Dial, freeMax: number) {
    this.#dial = dial
    this.#freeMax = freeMax
  }

  /** One that is free. */
  kept(): Upstream | null {
    for (let last = this.#free.pop(); last !== undefined; last = this.#free.pop()) if (last.isOpen) return last
    return null
  }

  async opened(): Promise<Upstream> {
    const stream = await this.#dial()
    const made = new Upstream(stream, (closed) => this.#closed(closed))
    this.#all.add(made)
    if (this.#isDestroyed) made.destroy()
    return made
  }

  free(upstream: Upstream): void {
    if (!upstream.isOpen) return
    upstream.free()
    if (this.#free.length < this.#freeMax) this.#free.push(upstream)
    else upstream.destroy()
  }

  get isIdle(): boolean {
    return this.#all.size === this.#free.length
  }

  /** Ends all, also those in use. */
  destroy(): void {
    this.#isDestroyed = true
    for (const upstream of [...this.#all]) upstream.destroy()
  }

  #closed(closed: Upstream): void {
    this.#all.delete(closed)
    const at = this.#free.indexOf(closed)
    if (at >= 0) this.#free.splice(at, 1)
  }
}
