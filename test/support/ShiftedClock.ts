/**
 * Real time and a shift that only a test moves: deadlines an hour away are reached immediately, and sleeps are real.
 */
import { type Clock, Duration, Effect } from "effect"

export class ShiftedClock implements Clock.Clock {
  shiftMs = 0
  /** Not null: the clock stands at this instant. */
  frozenAt: number | null = null

  currentTimeMillisUnsafe(): number {
    return this.frozenAt ?? Date.now() + this.shiftMs
  }
  readonly currentTimeMillis = Effect.sync(() => this.currentTimeMillisUnsafe())

  currentTimeNanosUnsafe(): bigint {
    return BigInt(this.currentTimeMillisUnsafe()) * 1_000_000n
  }
  readonly currentTimeNanos = Effect.sync(() => this.currentTimeNanosUnsafe())

  monotonicTimeNanosUnsafe(): bigint {
    return process.hrtime.bigint()
  }
  readonly monotonicTimeNanos = Effect.sync(() => this.monotonicTimeNanosUnsafe())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    const ms = Math.min(Duration.toMillis(duration), 2 ** 31 - 1)
    return Effect.callback((resume) => {
      const timer = setTimeout(() => resume(Effect.void), ms)
      return Effect.sync(() => clearTimeout(timer))
    })
  }
}
