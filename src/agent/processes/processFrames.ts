/**
 * The wire form of `ProcessFrame`: what an attach stream carries from the agent to the service.
 *
 * A frame is a 16-byte head and a payload. Head: type (u8), three zero bytes, payload length (u32), stream offset (f64), big endian.
 * Types 1 and 2 carry bytes of stdout and stderr at that offset; 3 (`exited`) and 4 (`settled`) carry JSON at offset 0.
 */
export const FRAME_HEAD_BYTES = 16
/** No frame carries more; a decoder that sees more has lost the framing. */
export const FRAME_PAYLOAD_MAX_BYTES = 256 * 1024

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

/** Cuts a byte stream into frames. Output payloads come as soon as any of their bytes do, as frames with their own offset. */
export class FrameDecoder {
  private head: Buffer = Buffer.alloc(FRAME_HEAD_BYTES)
  private headFilled = 0
  private type = 0
  private offset = 0
  private remaining = 0
  private json: Array<Uint8Array> = []

  /** True between two frames: where a well-formed stream may end. */
  get atBoundary(): boolean {
    return this.headFilled === 0
  }

  /** Throws a RangeError when the bytes are no frames. */
  push(chunk: Uint8Array): Array<RawFrame> {
    const frames: Array<RawFrame> = []
    let position = 0
    while (position < chunk.length || (this.headFilled === FRAME_HEAD_BYTES && this.remaining === 0)) {
      if (this.headFilled < FRAME_HEAD_BYTES) {
        const take = Math.min(FRAME_HEAD_BYTES - this.headFilled, chunk.length - position)
        this.head.set(chunk.subarray(position, position + take), this.headFilled)
        this.headFilled += take
        position += take
        if (this.headFilled < FRAME_HEAD_BYTES) break
        this.readHead()
      }
      const take = Math.min(this.remaining, chunk.length - position)
      const part = chunk.subarray(position, position + take)
      position += take
      this.remaining -= take
      if (this.type === FrameType.stdout || this.type === FrameType.stderr) {
        if (take > 0) frames.push({ type: this.type, offset: this.offset, payload: part })
        this.offset += take
      } else {
        if (take > 0) this.json.push(Uint8Array.from(part))
        if (this.remaining === 0) {
          frames.push({ type: this.type, offset: 0, payload: Buffer.concat(this.json) })
          this.json = []
        }
      }
      if (this.remaining > 0) break
      this.headFilled = 0
    }
    return frames
  }

  private readHead(): void {
    this.type = this.head.readUInt8(0)
    this.remaining = this.head.readUInt32BE(4)
    this.offset = this.head.readDoubleBE(8)
    const known = this.type >= FrameType.stdout && this.type <= FrameType.settled
    if (!known || this.remaining > FRAME_PAYLOAD_MAX_BYTES || !Number.isSafeInteger(this.offset) || this.offset < 0) {
      throw new RangeError("not a process frame")
    }
  }
}
