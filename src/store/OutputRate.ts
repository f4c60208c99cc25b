/**
 * Long-term limit on the output that each Sandbox stores: a token bucket for each, in the process that stores.
 *
 * Every stored byte costs WAL, disk and vacuum, even if retention deletes it a moment later. A burst passes
 * at full speed; beyond it the writer waits, its guest's window fills, and the command blocks on its pipe. No byte is dropped.
 */
export class OutputRate {
  readonly #perMs: number
  readonly #burst: number
  /** Tokens left at `at`, by Sandbox; negative while writers wait. Full buckets are dropped. */
  readonly #buckets = new Map<string, { left: number; at: number }>()
  #sweepAt = 1024

  constructor(bytesPerSecond: number, burstBytes: number) {
    this.#perMs = bytesPerSecond / 1000
    this.#burst = burstBytes
  }

  /** Takes tokens, and returns how many milliseconds the writer must wait before it stores the bytes. Writers are served in order. */
  take(sandboxId: string, bytes: number, now: number): number {
    const bucket = { left: this.#left(sandboxId, now) - bytes, at: now }
    this.#buckets.set(sandboxId, bucket)
    if (this.#buckets.size > this.#sweepAt) this.#sweep(now)
    return Math.ceil(Math.max(0, -bucket.left) / this.#perMs)
  }

  /** How long a writer would wait if it came now. */
  waitMs(sandboxId: string, now: number): number {
    return Math.ceil(Math.max(0, -this.#left(sandboxId, now)) / this.#perMs)
  }

  #left(sandboxId: string, now: number): number {
    const bucket = this.#buckets.get(sandboxId)
    if (bucket === undefined) return this.#burst
    return Math.min(this.#burst, bucket.left + Math.max(0, now - bucket.at) * this.#perMs)
  }

  #sweep(now: number) {
    for (const id of this.#buckets.keys()) if (this.#left(id, now) >= this.#burst) this.#buckets.delete(id)
    this.#sweepAt = Math.max(1024, 2 * this.#buckets.size)
  }
}
