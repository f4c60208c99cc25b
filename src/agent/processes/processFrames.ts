/**
 * The wire form of `ProcessFrame`, which an attach stream carries from the agent to the service.
 *
 * A frame is a 16-byte head and a payload. Head: type (u8), three zero bytes, payload length (u32), stream offset (f64), big endian.
 * Types 1 and 2 carry bytes of stdout and stderr at that offset, at least one; 3 (`exited`) and 4 (`settled`) carry JSON at offset 0.
 */
import { OUTPUT_END_MAX } from "../wire.ts"

export const FRAME_HEAD_BYTES = 16
/** The largest payload; a decoder that sees a larger one has lost the framing. */
export const FRAME_PAYLOAD_MAX_BYTES = 256 * 1024
/** The largest JSON of `exited` and `settled`. In the other direction `start` has arguments and environment, see `FrameDecoder`. */
export const FRAME_JSON_MAX_BYTES = 1024
/** Small frames of output are merged with those that follow: each frame costs its reader as much as a large one. */
const SMALL_BYTES = 2 * 1024
const GATHERED_BYTES = 16 * 1024

export const FrameType = { stdout: 1, stderr: 2, exited: 3, settled: 4 } as const
export type FrameType = (typeof FrameType)[keyof typeof FrameType]

export interface RawFrame {
  readonly type: number
  readonly offset: number
  readonly payload: Uint8Array
}

export const frameHead = (type: FrameType, offset: number, payloadBytes: number): Buffer => {
  const head = Buffer.allocUnsafe(FRAME_HEAD_BYTES)
  head.writeUInt32BE(type * 0x1000000, 0)
  head.writeUInt32BE(payloadBytes, 4)
  head.writeDoubleBE(offset, 8)
  return head
}

export const jsonFrame = (type: FrameType, value: unknown): Buffer => {
  const payload = Buffer.from(JSON.stringify(value))
  return Buffer.concat([frameHead(type, 0, payload.length), payload])
}

/** The last output frame of a stream, and the bytes merged into it. */
interface Growing {
  readonly frame: { readonly type: number; readonly offset: number; payload: Uint8Array }
  /** Null while nothing was merged. */
  bytes: Buffer | null
  used: number
}

type LastOfEach = [stdout: Growing | null, stderr: Growing | null]

/**
 * Cuts a byte stream into frames. Output payloads are delivered as soon as any of their bytes arrive, as frames with their own offset. Work and
 * memory are bounded by the bytes received, for every possible input: a frame without payload is dropped, and small ones are merged.
 */
export class FrameDecoder {
  private readonly head: Buffer = Buffer.alloc(FRAME_HEAD_BYTES)
  private readonly jsonMaxBytes: number
  private headFilled = 0
  private type = 0
  private offset = 0
  private remaining = 0
  private json: Array<Uint8Array> = []

  constructor(jsonMaxBytes = FRAME_JSON_MAX_BYTES) {
    this.jsonMaxBytes = jsonMaxBytes
  }

  /** True between two frames: where a well-formed stream may end. */
  get atBoundary(): boolean {
    return this.headFilled === 0
  }

  /** Throws a RangeError when the bytes are not frames. */
  push(chunk: Uint8Array): Array<RawFrame> {
    const frames: Array<RawFrame> = []
    const growing: LastOfEach = [null, null]
    let position = 0
    while (position < chunk.length) {
      if (this.headFilled < FRAME_HEAD_BYTES) {
        const take = Math.min(FRAME_HEAD_BYTES - this.headFilled, chunk.length - position)
        this.head.set(chunk.subarray(position, position + take), this.headFilled)
        this.headFilled += take
        position += take
        if (this.headFilled < FRAME_HEAD_BYTES) break
        this.readHead()
        if (position === chunk.length) break
      }
      const take = Math.min(this.remaining, chunk.length - position)
      const part = chunk.subarray(position, position + take)
      position += take
      this.remaining -= take
      if (this.type === FrameType.stdout || this.type === FrameType.stderr) {
        const index = this.type === FrameType.stdout ? 0 : 1
        if (!join(growing[index], this.offset, part)) {
          const frame = { type: this.type, offset: this.offset, payload: part }
          frames.push(frame)
          finish(growing, index)
          growing[index] = take > SMALL_BYTES ? null : { frame, bytes: null, used: take }
        }
        this.offset += take
      } else {
        this.json.push(Uint8Array.from(part))
        if (this.remaining === 0) {
          frames.push({ type: this.type, offset: 0, payload: Buffer.concat(this.json) })
          this.json = []
          // Keeps the order: later output must not be merged into frames before this one.
          finish(growing, 0)
          finish(growing, 1)
        }
      }
      if (this.remaining === 0) this.headFilled = 0
    }
    finish(growing, 0)
    finish(growing, 1)
    return frames
  }

  private readHead(): void {
    this.type = this.head.readUInt8(0)
    this.remaining = this.head.readUInt32BE(4)
    this.offset = this.head.readDoubleBE(8)
    const isOutput = this.type === FrameType.stdout || this.type === FrameType.stderr
    const isKnown = isOutput || this.type === FrameType.exited || this.type === FrameType.settled
    if (
      !isKnown ||
      this.remaining === 0 ||
      this.remaining > (isOutput ? FRAME_PAYLOAD_MAX_BYTES : this.jsonMaxBytes) ||
      !Number.isSafeInteger(this.offset) ||
      this.offset < 0 ||
      this.offset + this.remaining > OUTPUT_END_MAX
    ) {
      throw new RangeError("not a process frame")
    }
  }
}

/** Ends the merging of a stream's last frame. */
const finish = (growing: LastOfEach, index: 0 | 1): void => {
  const last = growing[index]
  if (last !== null && last.bytes !== null) last.frame.payload = last.bytes.subarray(0, last.used)
  growing[index] = null
}

/** Merges a small piece into the last frame of its stream. False when it must be a separate frame. */
const join = (last: Growing | null, offset: number, part: Uint8Array): boolean => {
  if (last === null || part.length > SMALL_BYTES || last.frame.offset + last.used !== offset) return false
  if (last.used + part.length > GATHERED_BYTES) return false
  if (last.bytes === null) {
    last.bytes = Buffer.allocUnsafeSlow(GATHERED_BYTES)
    last.bytes.set(last.frame.payload, 0)
  }
  last.bytes.set(part, last.used)
  last.used += part.length
  return true
}
