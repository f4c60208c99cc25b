/** The pause before a repair is tried again. It doubles with each try, and starts over once a repair has lasted. */
export class RetryPause {
  private readonly firstMs: number
  private readonly longestMs: number
  private pauseMs: number
  private triedAt = Number.NEGATIVE_INFINITY

  constructor(firstMs: number, longestMs: number) {
    this.firstMs = firstMs
    this.longestMs = longestMs
    this.pauseMs = 0
  }

  /** @param now Milliseconds of the monotonic clock. */
  isDue(now: number): boolean {
    return now - this.triedAt >= this.pauseMs
  }

  tried(now: number): void {
    const hasLasted = now - this.triedAt >= 2 * this.longestMs
    this.pauseMs = hasLasted || this.pauseMs === 0 ? this.firstMs : Math.min(2 * this.pauseMs, this.longestMs)
    this.triedAt = now
  }
}

/** For a network whose helper process keeps ending. */
export const networkRetryPause = (): RetryPause => new RetryPause(2_000, 300_000)
