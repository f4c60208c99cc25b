/** The service's end of one plain tunnel, as a stream (src/agent/plainFrames.ts has the form and the reason). */
import type { OnReadOpts, Socket } from "node:net"
import { Duplex } from "node:stream"
import { END_FRAME, FrameCutter, HEAD_BYTES, LINE_MAX_BYTES, READ_BYTES } from "../../agent/plainFrames.ts"
import type { InPlace, ReadsInPlace } from "../readInPlace.ts"

/** A slice of at least so many bytes is passed on in the memory into which it was read; a shorter one is copied, and the memory is used again. */
const PASSED_ON_BYTES = READ_BYTES / 4
/** Up to this, the content of a frame is copied behind its head, so that one write takes both. */
const COPIED_MAX_BYTES = 16 * 1024

type Piece = { readonly chunk: Buffer | string; readonly encoding: BufferEncoding }
type Done = (cause?: Error | null) => void

export class PlainTunnel extends Duplex implements ReadsInPlace {
  /** For the socket's connection. */
  readonly onread: OnReadOpts = {
    buffer: () => this.#room,
    callback: (bytes) => this.#read(bytes)
  }
  #room: Buffer = Buffer.allocUnsafeSlow(READ_BYTES)
  #isKept = false
  #socket: Socket | null = null
  #answer = Buffer.alloc(0)
  #onAnswer: ((line: string | null) => void) | null = null
  readonly #cutter = new FrameCutter()
  #sentEnd = false
  #inPlace: InPlace | null = null

  constructor() {
    // A reader that is behind holds one read, however short its frames are.
    super({ readableHighWaterMark: 1, decodeStrings: false })
    // Every reader listens for `close`; an error without a listener would end the process.
    this.on("error", () => {})
  }

  /** @returns The agent's first line; null for none, or for the beginning of another protocol. */
  ask(socket: Socket, line: string): Promise<string | null> {
    this.#socket = socket
    socket.on("end", () => this.#over())
    socket.on("close", () => this.#over())
    return new Promise((resolve) => {
      this.#onAnswer = resolve
      if (socket.destroyed) this.#over()
      else socket.write(line)
    })
  }

  readInPlace(take: InPlace): void {
    for (let held: Buffer | null = this.read(); held !== null; held = this.read()) take(held)
    this.#inPlace = take
    // The end comes as the event `end`, and there is nothing else to read.
    super.resume()
  }

  /** With `readInPlace`: holds the program back, until `resume`. */
  override pause(): this {
    if (this.#inPlace === null) return super.pause()
    this.#socket?.pause()
    return this
  }

  override resume(): this {
    if (this.#inPlace === null) return super.resume()
    this.#socket?.resume()
    return this
  }

  #read(bytes: number): boolean {
    let content = this.#room.subarray(0, bytes)
    if (this.#onAnswer !== null) {
      const rest = this.#readAnswer(content)
      if (rest === null) return true
      content = rest
    }
    this.#isKept = false
    const isWhole = this.#cutter.cut(content, this.#give)
    if (this.#isKept) this.#room = Buffer.allocUnsafeSlow(READ_BYTES)
    if (!isWhole) this.destroy(new Error("the agent sent more than the end of a connection"))
    else if (this.#cutter.hasEnded) {
      this.push(null)
      this.#endIfBoth()
    }
    return this.#inPlace !== null || this.readableLength === 0
  }

  readonly #give = (slice: Buffer): void => {
    if (this.destroyed) return
    if (this.#inPlace !== null) {
      if (!this.#inPlace(slice)) this.#isKept = true
    } else if (slice.length < PASSED_ON_BYTES) this.push(Buffer.from(slice))
    else {
      this.#isKept = true
      this.push(slice)
    }
  }

  /** What follows the line; null: it has not come yet, or the answer was another. */
  #readAnswer(bytes: Buffer): Buffer | null {
    this.#answer = Buffer.concat([this.#answer, bytes])
    const end = this.#answer.indexOf("\n")
    if (end < 0 && this.#answer.length < LINE_MAX_BYTES && this.#answer[0] !== 0) return null
    const answer = this.#answer
    this.#answer = Buffer.alloc(0)
    const isLine = end >= 0 && end < LINE_MAX_BYTES
    this.#answered(isLine ? answer.toString("latin1", 0, end) : null)
    return isLine ? answer.subarray(end + 1) : null
  }

  #answered(line: string | null): void {
    this.#onAnswer?.(line)
    this.#onAnswer = null
  }

  /** The socket has ended or broken. Without both ends, so has the connection. */
  #over(): void {
    this.#answered(null)
    if (this.#sentEnd && this.#cutter.hasEnded) return
    this.destroy(new Error("the connection broke in the Sandbox"))
  }

  #endIfBoth(): void {
    if (this.#sentEnd && this.#cutter.hasEnded) this.#socket?.end()
  }

  override _read(): void {
    this.#socket?.resume()
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
    this.#send([{ chunk, encoding }], done)
  }

  override _writev(pieces: Array<Piece>, done: Done): void {
    this.#send(pieces, done)
  }

  /** Writes one frame of all pieces. */
  #send(pieces: ReadonlyArray<Piece>, done: Done): void {
    const socket = this.#socket!
    let length = 0
    for (const { chunk, encoding } of pieces) length += Buffer.byteLength(chunk, encoding)
    // A frame without content would be the end.
    if (length === 0) return void process.nextTick(done)
    if (length <= COPIED_MAX_BYTES) {
      const frame = Buffer.allocUnsafe(HEAD_BYTES + length)
      let at = frame.writeUInt32BE(length)
      for (const { chunk, encoding } of pieces)
        at += typeof chunk === "string" ? frame.write(chunk, at, encoding) : chunk.copy(frame, at)
      socket.write(frame, done)
      return
    }
    const head = Buffer.allocUnsafe(HEAD_BYTES)
    head.writeUInt32BE(length)
    socket.cork()
    socket.write(head)
    const last = pieces.length - 1
    for (const [at, { chunk, encoding }] of pieces.entries())
      socket.write(chunk, encoding, at === last ? done : undefined)
    socket.uncork()
  }

  override _final(done: Done): void {
    this.#sentEnd = true
    this.#socket!.write(END_FRAME, (cause) => {
      this.#endIfBoth()
      done(cause ?? null)
    })
  }

  override _destroy(cause: Error | null, done: Done): void {
    this.#answered(null)
    this.#socket?.destroy()
    done(cause)
  }
}
