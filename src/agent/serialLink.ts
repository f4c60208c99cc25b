/**
 * Sessions over one byte stream that never reconnects, such as a virtio-serial port.
 *
 * The service may be killed in the middle of a message, and the next service process must be able to start afresh on the same byte stream. Its first
 * message is a mark that cannot occur in data, the kind `S` and a fresh id. The agent ends its session and answers with the mark, the kind `A` and
 * the id; then both sides send plain data. Data that contains the mark's prefix is stuffed with one zero byte after it, as HDLC stuffs bits.
 * Truncation at any point does no harm: the mark's first byte occurs nowhere else in it, so a reader resynchronizes immediately.
 *
 * An agent that starts sends a third mark, the kind `B`: the sessions of the agent before it have ended. Without it the service would wait on a
 * session that no process serves, because the port itself stays open. A service of an earlier version reads it as invalid data and ends its session,
 * too.
 */
import { randomBytes } from "node:crypto"
import { Duplex } from "node:stream"

const PREFIX = Buffer.from("f89ae1b7c3d5a6e9bdb491d2ce87ad", "hex")
const STUFFING = 0
const CONTROL = 1
const ID_CHARS = 32
const OPEN = 0x53
const ACCEPT = 0x41
const BEGIN = 0x42

/** How many bytes of the prefix the end of `chunk` matches, given that `matched` bytes were matched before it. `cut` handles full matches. */
const matchTail = (chunk: Uint8Array, matched: number): number => {
  // Only the last bytes can be part of an unfinished match.
  let state = chunk.length > PREFIX.length ? 0 : matched
  for (let index = Math.max(0, chunk.length - PREFIX.length); index < chunk.length; index++) {
    const byte = chunk[index]
    state = byte === PREFIX[state] ? state + 1 : byte === PREFIX[0] ? 1 : 0
  }
  return state
}

/** The index after the first full match of the prefix that ends within `chunk`, or -1. */
const cut = (chunk: Buffer, matched: number): number => {
  if (matched > 0) {
    let state = matched
    for (let index = 0; index < chunk.length && state > 0; index++) {
      state = chunk[index] === PREFIX[state] ? state + 1 : 0
      if (state === PREFIX.length) return index + 1
    }
  }
  const found = chunk.indexOf(PREFIX)
  return found < 0 ? -1 : found + PREFIX.length
}

/** Stuffs data so that it never contains the mark. */
export class SerialEncoder {
  private matched = 0

  encode(data: Buffer): Array<Buffer> {
    const parts: Array<Buffer> = []
    let rest = data
    for (let end = cut(rest, this.matched); end >= 0; end = cut(rest, 0)) {
      parts.push(rest.subarray(0, end), Buffer.of(STUFFING))
      rest = rest.subarray(end)
      this.matched = 0
    }
    if (rest.length > 0) {
      parts.push(rest)
      this.matched = matchTail(rest, this.matched)
    }
    return parts
  }
}

export interface SerialEvents {
  readonly data: (bytes: Buffer) => void
  readonly control: (kind: number, id: string) => void
}

/** Undoes the stuffing and finds marks. The bytes before a mark, and a partial mark, belong to a session that has ended. */
export class SerialDecoder {
  private matched = 0
  private control: string | null = null
  private readonly events: SerialEvents

  constructor(events: SerialEvents) {
    this.events = events
  }

  push(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0) {
      if (this.control !== null) rest = this.readControl(rest, this.control)
      else if (this.matched === PREFIX.length) rest = this.afterPrefix(rest)
      else {
        const end = cut(rest, this.matched)
        const data = end < 0 ? rest : rest.subarray(0, end)
        this.matched = end < 0 ? matchTail(rest, this.matched) : PREFIX.length
        // A mark that came whole is not passed on: an HTTP/2 session makes an error of it, with a trace of the stack, before it ends.
        const isMark = end >= PREFIX.length && rest[end] === CONTROL
        this.events.data(isMark ? data.subarray(0, end - PREFIX.length) : data)
        rest = rest.subarray(data.length)
      }
    }
  }

  private afterPrefix(rest: Buffer): Buffer {
    this.matched = 0
    if (rest[0] === STUFFING) return rest.subarray(1)
    if (rest[0] === CONTROL) {
      this.control = ""
      return rest.subarray(1)
    }
    // Reached only in a truncated stream; the rest is read as data until the next mark.
    return rest
  }

  /** Reads a kind and the id's hex digits. Any other byte is the start of another mark: this message was truncated. */
  private readControl(rest: Buffer, sofar: string): Buffer {
    const byte = rest[0]!
    const char = String.fromCharCode(byte)
    const fits = sofar === "" ? byte === OPEN || byte === ACCEPT || byte === BEGIN : /[0-9a-f]/.test(char)
    if (!fits) {
      this.control = null
      return rest
    }
    const text = sofar + char
    this.control = text
    if (text.length === ID_CHARS + 1) {
      this.control = null
      this.events.control(text.charCodeAt(0), text.slice(1))
    }
    return rest.subarray(1)
  }
}

const mark = (kind: number, id: string): Buffer =>
  Buffer.concat([PREFIX, Buffer.of(CONTROL, kind), Buffer.from(id, "latin1")])

/** One session's bytes over the device. Destroying it leaves the device open. */
class SerialSession extends Duplex {
  private readonly device: Duplex
  private readonly encoder = new SerialEncoder()
  private gathering = false
  private quiet = false
  /** What was written before `accept`; null from then on. */
  private early: Array<Buffer> | null = []

  constructor(device: Duplex) {
    super({ allowHalfOpen: false })
    this.device = device
  }

  /** From now on the device carries this session. */
  accept(): this {
    const early = this.early ?? []
    this.early = null
    if (early.length > 0) this.send(early, () => {})
    return this
  }

  override _read(): void {
    this.device.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.send([chunk], done)
  }

  override _writev(chunks: ReadonlyArray<{ readonly chunk: Buffer }>, done: (error?: Error | null) => void): void {
    this.send(
      chunks.map(({ chunk }) => chunk),
      done
    )
  }

  /**
   * Gathers writes until a turn of the event loop brings none, and sends them as one. Every message costs a guest an interrupt and two context
   * switches, and one HTTP/2 request is three writes, each in the turn after the previous one was accepted.
   */
  private send(chunks: ReadonlyArray<Buffer>, done: (error?: Error | null) => void): void {
    if (this.early !== null) {
      this.early.push(...chunks)
      done()
      return
    }
    this.quiet = false
    if (!this.gathering) {
      this.gathering = true
      this.device.cork()
      setImmediate(() => this.turn())
    }
    let flowing = true
    for (const chunk of chunks) for (const part of this.encoder.encode(chunk)) flowing = this.device.write(part)
    if (flowing) {
      done()
      return
    }
    this.release()
    if (!this.device.writableNeedDrain) {
      done()
      return
    }
    const finish = () => {
      this.device.off("drain", finish)
      this.off("close", finish)
      done()
    }
    this.device.on("drain", finish)
    this.on("close", finish)
  }

  private turn(): void {
    if (!this.gathering) return
    if (this.quiet) {
      this.release()
      return
    }
    this.quiet = true
    setImmediate(() => this.turn())
  }

  private release(): void {
    if (!this.gathering) return
    this.gathering = false
    this.device.uncork()
  }

  deliver(bytes: Buffer): void {
    if (!this.destroyed && !this.push(bytes)) this.device.pause()
  }
}

/**
 * Shorter than the caller's time-out for opening the transport: a device that stays open for an agent without an answer blocks the port for the next
 * attempt.
 */
const ACCEPT_TIMEOUT_MS = 9_000
/** How many agents may start on one connection before one accepts. A guest that sends more marks tries to make the service send as many. */
const BEGINS_MAX = 8

const newId = (): string => randomBytes(ID_CHARS / 2).toString("hex")

/** When the first requests of a session have been answered. */
const PREPARED_AFTER_MS = 500

/**
 * The agent's side: every `S` ends the previous session and starts the next one. That is made ahead, with all that `onSession` makes for it: in a
 * machine that was just restored under emulation, all of this code runs for the first time, which takes 35 ms.
 */
export const serveSerial = (device: Duplex, onSession: (session: Duplex) => void): void => {
  let current: SerialSession | null = null
  let next: SerialSession | null = null
  const prepared = (): SerialSession => {
    if (next !== null && !next.destroyed) return next
    next = new SerialSession(device)
    onSession(next)
    return next
  }
  const prepareSoon = setTimeout(prepared, PREPARED_AFTER_MS).unref()
  device.write(mark(BEGIN, newId()))
  const decoder = new SerialDecoder({
    data: (bytes) => current?.deliver(bytes),
    control: (kind, id) => {
      if (kind !== OPEN) return
      current?.destroy()
      device.write(mark(ACCEPT, id))
      current = prepared()
      next = null
      current.accept()
      device.resume()
      prepareSoon.refresh()
    }
  })
  device.on("data", (chunk: Buffer) => decoder.push(chunk))
  device.on("close", () => {
    clearTimeout(prepareSoon)
    current?.destroy()
    next?.destroy()
  })
  prepared()
}

/**
 * The service's side: resolves when the agent has accepted this session. The device is destroyed with the session, which ends when the agent is
 * replaced.
 */
export const connectSerial = (device: Duplex): Promise<Duplex> =>
  new Promise((resolve, reject) => {
    let id = newId()
    let session: SerialSession | null = null
    let begins = 0
    const timer = setTimeout(() => device.destroy(), ACCEPT_TIMEOUT_MS)
    const decoder = new SerialDecoder({
      data: (bytes) => session?.deliver(bytes),
      control: (kind, said) => {
        if (kind === BEGIN) {
          if (session !== null) return void session.destroy()
          if (++begins > BEGINS_MAX) return void device.destroy()
          // The previous agent may have consumed our mark. The new mark has another id, because an answer to the first would be followed by a second
          // session.
          id = newId()
          device.write(mark(OPEN, id))
        }
        if (kind !== ACCEPT || said !== id || session !== null) return
        clearTimeout(timer)
        session = new SerialSession(device).accept()
        session.on("close", () => device.destroy())
        resolve(session)
      }
    })
    device.on("data", (chunk: Buffer) => decoder.push(chunk))
    device.on("error", reject)
    device.on("close", () => {
      clearTimeout(timer)
      session?.destroy()
      reject(new Error("the serial port closed before an agent accepted the session"))
    })
    device.write(mark(OPEN, id))
  })
