/** One timer an actor, for the earliest of its deadlines. What lies beyond the horizon is left to the database and a later sweep. */
import { type Clock, Effect, Fiber } from "effect"

export class DeadlineTimers {
  readonly #timers = new Map<string, { readonly at: number; readonly fiber: Fiber.Fiber<void> }>()
  readonly #clock: Clock.Clock
  readonly #fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void, unknown>
  readonly #horizonMs: number

  constructor(
    clock: Clock.Clock,
    fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void, unknown>,
    horizonMs: number
  ) {
    this.#clock = clock
    this.#fork = fork
    this.#horizonMs = horizonMs
  }

  /** Replaces the actor's timer; null only ends it. `fire` is called once, at `dueAt` or right after if that is past. */
  set(id: string, dueAt: number | null, fire: () => void): void {
    const timer = this.#timers.get(id)
    if (timer !== undefined) {
      if (timer.at === dueAt) return
      this.#timers.delete(id)
      this.#fork(Fiber.interrupt(timer.fiber))
    }
    if (dueAt === null || dueAt - this.#clock.currentTimeMillisUnsafe() > this.#horizonMs) return
    const fiber = this.#fork(
      Effect.yieldNow.pipe(
        Effect.andThen(Effect.suspend(() => Effect.sleep(Math.max(0, dueAt - this.#clock.currentTimeMillisUnsafe())))),
        Effect.andThen(
          Effect.sync(() => {
            this.#timers.delete(id)
            fire()
          })
        )
      )
    ) as Fiber.Fiber<void>
    this.#timers.set(id, { at: dueAt, fiber })
  }
}
