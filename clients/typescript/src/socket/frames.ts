/**
 * The frames of a WebSocket client as bytes: no connection, no clock.
 *
 * @source RFC 6455 section 5
 */

export type Frame =
  /** Of a binary message, as far as it came: where one ends is not told. */
  | { readonly type: "bytes"; readonly bytes: Uint8Array }
  /** A whole text message. */
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "ping"; readonly bytes: Uint8Array }
  | { readonly type: "pong" }
  /** `code` null: the frame said none. */
  | { readonly type: "close"; readonly code: number | null; readonly reason: string }

/** What came is no frame of a server. */
export class MalformedFrame extends Error {
  override readonly name = "MalformedFrame"
}

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

const controlMaxBytes = 125
/** Texts only steer. */
const textMaxBytes = 64 * 1024
const nothing = new Uint8Array(0)

const maskBytes = 4

/** One whole message, or a control frame, masked as a client must. The payload is copied. */
export const clientFrame = (opcode: number, payload: Uint8Array): Uint8Array<ArrayBuffer> => {
  const { length } = payload
  const lengthBytes = length <= controlMaxBytes ? 0 : length < 2 ** 16 ? 2 : 8
  const headBytes = 2 + lengthBytes + maskBytes
  // Mask and payload begin at multiples of four, so that words are masked: that takes 0.3 ns a byte, and 0.8 byte by byte.
  const skipped = -headBytes & 3
  const buffer = new ArrayBuffer(skipped + headBytes + length)
  const frame = new Uint8Array(buffer, skipped)
  const view = new DataView(buffer, skipped)
  frame[0] = 0x80 | opcode
  frame[1] = 0x80 | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127)
  if (lengthBytes === 2) view.setUint16(2, length)
  else if (lengthBytes === 8) view.setBigUint64(2, BigInt(length))
  const mask = crypto.getRandomValues(frame.subarray(2 + lengthBytes, headBytes))
  const body = frame.subarray(headBytes)
  body.set(payload)
  const [word = 0] = new Uint32Array(buffer, mask.byteOffset, 1)
  const words = new Uint32Array(buffer, body.byteOffset, length >> 2)
  for (let at = 0; at < words.length; at++) words[at]! ^= word
  for (let at = words.length * 4; at < length; at++) body[at]! ^= mask[at & 3]!
  return frame
}

export const closeFrame = (code: number, reason = ""): Uint8Array<ArrayBuffer> => {
  const said = new TextEncoder().encode(reason)
  const payload = new Uint8Array(2 + said.length)
  new DataView(payload.buffer).setUint16(0, code)
  payload.set(said, 2)
  return clientFrame(opcodes.close, payload)
}

const textOf = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new MalformedFrame("A text of the server is not UTF-8.")
  }
}

const closeOf = (bytes: Uint8Array): Frame => {
  if (bytes.length === 1) throw new MalformedFrame("The server closed with half a code.")
  if (bytes.length === 0) return { type: "close", code: null, reason: "" }
  return { type: "close", code: (bytes[0]! << 8) | bytes[1]!, reason: textOf(bytes.subarray(2)) }
}

const isControl = (opcode: number): boolean => opcode >= opcodes.close

/** What a server sends, cut anywhere. With `messageMaxBytes`, binary messages are yielded whole, as texts are, and none may be longer. Fails with MalformedFrame; nothing that comes after that is of any use. */
export class FrameReader {
  readonly #header: Array<number> = []
  /** Of the frame whose payload comes now; null before its header is whole. */
  #frame: { readonly opcode: number; readonly isLast: boolean; left: number } | null = null
  /** Of the message that is being told. */
  #message: typeof opcodes.text | typeof opcodes.binary | null = null
  /** Of the message that is yielded whole, and of the control frame. */
  readonly #whole: Array<Uint8Array> = []
  #wholeBytes = 0
  readonly #control: Array<Uint8Array> = []
  readonly #messageMaxBytes: number | null

  constructor(messageMaxBytes: number | null = null) {
    this.#messageMaxBytes = messageMaxBytes
  }

  #begun(header: ReadonlyArray<number>) {
    const [first, second] = header as [number, number]
    const opcode = first & 0x0f
    const isLast = (first & 0x80) !== 0
    if ((first & 0x70) !== 0) throw new MalformedFrame("The server sent a frame of an extension.")
    if ((second & 0x80) !== 0) throw new MalformedFrame("The server sent a masked frame.")
    const left = header.length === 2 ? second : header.slice(2).reduce((length, byte) => length * 256 + byte, 0)
    if (!Number.isSafeInteger(left)) throw new MalformedFrame("The server announced a frame longer than any.")
    if (isControl(opcode)) {
      if (opcode > opcodes.pong) throw new MalformedFrame(`The server sent a frame of the unknown kind ${opcode}.`)
      if (!isLast || left > controlMaxBytes) throw new MalformedFrame("The server sent a control frame in pieces.")
    } else if (opcode === opcodes.continuation) {
      if (this.#message === null) throw new MalformedFrame("The server went on with no message.")
    } else {
      if (opcode !== opcodes.text && opcode !== opcodes.binary)
        throw new MalformedFrame(`The server sent a frame of the unknown kind ${opcode}.`)
      if (this.#message !== null) throw new MalformedFrame("The server began a message within another.")
      this.#message = opcode
    }
    return { opcode, isLast, left }
  }

  #told(frame: { readonly opcode: number; readonly isLast: boolean; left: number }, piece: Uint8Array): Frame | null {
    const isOver = frame.left === 0
    if (isControl(frame.opcode)) {
      // Kept beyond the call: a chunk is its caller's.
      if (piece.length > 0) this.#control.push(piece.slice())
      if (!isOver) return null
      const payload = joined(this.#control.splice(0))
      if (frame.opcode === opcodes.close) return closeOf(payload)
      return frame.opcode === opcodes.ping ? { type: "ping", bytes: payload } : { type: "pong" }
    }
    const message = this.#message
    if (isOver && frame.isLast) this.#message = null
    if (message === opcodes.binary && this.#messageMaxBytes === null) {
      return piece.length === 0 ? null : { type: "bytes", bytes: piece }
    }
    this.#whole.push(new Uint8Array(piece))
    this.#wholeBytes += piece.length
    if (this.#wholeBytes > (this.#messageMaxBytes ?? textMaxBytes))
      throw new MalformedFrame("The server sent a message longer than any.")
    if (!isOver || !frame.isLast) return null
    this.#wholeBytes = 0
    const whole = joined(this.#whole.splice(0))
    return message === opcodes.binary ? { type: "bytes", bytes: whole } : { type: "text", text: textOf(whole) }
  }

  *read(chunk: Uint8Array): Generator<Frame, void, undefined> {
    let at = 0
    while (true) {
      if (this.#frame === null) {
        while (this.#header.length < headerBytes(this.#header) && at < chunk.length) this.#header.push(chunk[at++]!)
        if (this.#header.length < headerBytes(this.#header)) return
        this.#frame = this.#begun(this.#header.splice(0))
      }
      const frame = this.#frame
      const piece = chunk.subarray(at, at + frame.left)
      at += piece.length
      frame.left -= piece.length
      const told = this.#told(frame, piece)
      if (frame.left === 0) this.#frame = null
      if (told !== null) yield told
      if (this.#frame !== null) return
    }
  }
}

const headerBytes = (begun: ReadonlyArray<number>): number => {
  const length = (begun[1] ?? 0) & 0x7f
  return length < 126 ? 2 : length === 126 ? 4 : 10
}

const joined = (pieces: ReadonlyArray<Uint8Array>): Uint8Array => {
  if (pieces.length < 2) return pieces[0] ?? nothing
  const all = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}
