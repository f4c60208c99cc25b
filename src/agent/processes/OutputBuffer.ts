/**
 * Buffers one output stream of one process: the bytes from `base` to `end`, by absolute offset.
 *
 * `window` keeps unacknowledged bytes and tells its reader when to pause; `head` keeps the first `limit` bytes and only counts the rest. Bytes are
 * copied in and handed out as views; a written block is never overwritten.
 */
const FIRST_BLOCK_BYTES = 4 * 1024
const BLOCK_BYTES = 64 * 1024

interface Block {
  readonly offset: number
  readonly bytes: Buffer
  used: number
}

/** The bytes kept by all buffers of an agent. */
export interface RetainedBytes {
  total: number
  readonly max: number
}

export class OutputBuffer {
  /** Offset after the last byte that the process wrote. */
  end = 0
  /** Offset of the first byte still kept. */
  base = 0
  private keptEnd = 0
  private readonly blocks: Array<Block> = []
  private mode: "window" | "head"
  private limit: number
  private readonly retained: RetainedBytes

  constructor(mode: "window" | "head", limit: number, retained: RetainedBytes) {
    this.mode = mode
    this.limit = limit
    this.retained = retained
  }

  /** Offset after the last byte that can be read; below `end` in `head` mode when bytes were discarded. */
  get readableEnd(): number {
    return this.keptEnd
  }

  get retainedBytes(): number {
    return this.keptEnd - this.base
  }

  /** True when another read of up to `readBytes` must wait for an acknowledgement. An empty buffer always accepts one read. */
  isFull(readBytes: number): boolean {
    if (this.mode === "head" || this.retainedBytes === 0) return false
    return this.retainedBytes + readBytes > this.limit || this.retained.total + readBytes > this.retained.max
  }

  append(bytes: Uint8Array): void {
    const room = this.mode === "window" ? bytes.length : Math.max(0, Math.min(bytes.length, this.limit - this.keptEnd))
    this.end += bytes.length
    let from = 0
    while (from < room) {
      const block = this.tail(room - from)
      const take = Math.min(room - from, block.bytes.length - block.used)
      block.bytes.set(bytes.subarray(from, from + take), block.used)
      block.used += take
      from += take
      this.keptEnd += take
    }
    this.retained.total += room
  }

  /** A view of the kept bytes at `offset` (at least `base`), empty when there are none; at most one block. */
  read(offset: number): Buffer {
    // Readers follow the end, so search from there.
    for (let index = this.blocks.length - 1; index >= 0; index--) {
      const block = this.blocks[index]!
      if (offset >= block.offset) return block.bytes.subarray(offset - block.offset, block.used)
    }
    return Buffer.alloc(0)
  }

  /** Releases the bytes below `offset`. */
  acknowledge(offset: number): void {
    const next = Math.min(Math.max(offset, this.base), this.keptEnd)
    this.retained.total -= next - this.base
    this.base = next
    while (this.blocks.length > 0 && this.blocks[0]!.offset + this.blocks[0]!.used <= next) this.blocks.shift()
  }

  /** Drops all kept bytes, and only counts from now on. */
  discard(): void {
    this.acknowledge(this.keptEnd)
    this.mode = "head"
    this.limit = 0
  }

  private tail(wanted: number): Block {
    const last = this.blocks.at(-1)
    if (last !== undefined && last.used < last.bytes.length) return last
    const size = last === undefined && wanted <= FIRST_BLOCK_BYTES ? FIRST_BLOCK_BYTES : BLOCK_BYTES
    const block = { offset: this.keptEnd, bytes: Buffer.allocUnsafeSlow(size), used: 0 }
    this.blocks.push(block)
    return block
  }
}
