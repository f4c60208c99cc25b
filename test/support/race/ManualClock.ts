/**
 * Time that passes only when a test moves it. It drops interrupted sleeps, unlike Effect's TestClock, in which the
 * thousands of sleeps of a run would accumulate.
 */
import { type Clock, Duration, Effect } from "effect"

interface Sleep {
  readonly at: number
  readonly wake: () => void
}

export class ManualClock implements Clock.Clock {
  #now: number
  readonly #sleeps = new Set<Sleep>()
  readonly #moved: (nowMs: number) => void

  /** @param moved Called with each new instant, before anything wakes at it. */
  constructor(startMs: number, moved: (nowMs: number) => void = () => {}) {
    this.#now = startMs
    this.#moved = moved
  }

  currentTimeMillisUnsafe = () => this.#now
  currentTimeNanosUnsafe = () => BigInt(Math.floor(this.#now)) * 1_000_000n
  monotonicTimeNanosUnsafe = () => this.currentTimeNanosUnsafe()
  readonly currentTimeMillis = Effect.sync(this.currentTimeMillisUnsafe)
  readonly currentTimeNanos = Effect.sync(this.currentTimeNanosUnsafe)
  readonly monotonicTimeNanos = Effect.sync(this.monotonicTimeNanosUnsafe)

  sleep = (duration: Duration.Duration): Effect.Effect<void> => {
    const ms = Duration.toMillis(duration)
    if (ms <= 0) return Effect.yieldNow
    return Effect.callback((resume) => {
      const sleep: Sleep = {
        at: this.#now + ms,
        wake: () => {
          this.#sleeps.delete(sleep)
          resume(Effect.void)
        }
      }
      this.#sleeps.add(sleep)
      return Effect.sync(() => void this.#sleeps.delete(sleep))
    })
  }

  /**
   * Goes to the next instant at which a sleep ends, but not past `limitMs`. False: no sleep ends until then, and it is
   * then.
   */
  tick(limitMs: number): boolean {
    let next = Number.POSITIVE_INFINITY
    for (const { at } of this.#sleeps) next = Math.min(next, at)
    if (next > limitMs) {
      this.#move(limitMs)
      return false
    }
    this.#move(next)
    for (const sleep of [...this.#sleeps]) if (sleep.at <= this.#now) sleep.wake()
    return true
  }

  #move(toMs: number): void {
    this.#now = Math.max(this.#now, toMs)
    this.#moved(this.#now)
  }
}
