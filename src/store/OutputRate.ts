/**
 * How much output each Sandbox may have stored in the long run: a bucket for each, in the process that stores.
 *
 * Every byte that is stored costs its share of the log, of the disk and of vacuum, also if retention forgets it a moment later. A burst goes
 * through at full speed; beyond it a writer waits, its guest's window fills, and the command blocks on its pipe. No byte is dropped.
 */
export class OutputRate {
  readonly #perMs: number
  readonly #burst: number
  /** What is left at `at`, by Sandbox; less than nothing is what waits already. One that is full again is forgotten. */
  readonly #buckets = new Map<string, { left: number; at: number }>()
  #sweepAt = 1024

  constructor(bytesPerSecond: number, burstBytes: number) {
    this.#perMs = bytesPerSecond / 1000
    this.#burst = burstBytes
  }

  /** Takes the bytes out, and gives the milliseconds that their writer has to wait before it stores them. Writers wait in turn. */
  take(sandboxId: string, bytes: number, now: number): number {
    const bucket = { left: this.#left(sandboxId, now) - bytes, at: now }
    this.#buckets.set(sandboxId, bucket)
    if (this.#buckets.size > this.#sweepAt) this.#sweep(now)
    return Math.ceil(Math.max(0, -bucket.left) / this.#perMs)
  }

  /** How long a writer would wait that comes now. */
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
