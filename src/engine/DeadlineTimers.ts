/** One timer for each actor, for its earliest deadline. Deadlines beyond the horizon are left to the database and a later sweep. */
import { Clock, Effect, FiberMap, Option } from "effect"

type Run = (id: string, timer: Effect.Effect<void>) => unknown

export class DeadlineTimers {
  readonly #fibers: FiberMap.FiberMap<string>
  readonly #run: Run
  readonly #instants = new Map<string, number>()
  readonly #clock: Clock.Clock
  readonly #horizonMs: number

  private constructor(fibers: FiberMap.FiberMap<string>, run: Run, clock: Clock.Clock, horizonMs: number) {
    this.#fibers = fibers
    this.#run = run
    this.#clock = clock
    this.#horizonMs = horizonMs
  }

  /** The timers end with the scope. */
  static readonly make = Effect.fnUntraced(function* (horizonMs: number) {
    const fibers = yield* FiberMap.make<string>()
    return new DeadlineTimers(fibers, yield* FiberMap.runtime(fibers)(), yield* Clock.Clock, horizonMs)
  })

  /** Replaces the actor's timer; null only ends it. `fire` is called once, at `dueAt`, or immediately if that is past. */
  set(id: string, dueAt: number | null, fire: () => void): void {
    const now = this.#clock.currentTimeMillisUnsafe()
    // A past deadline is set again: after a jump of the clock, or a suspended host, the running sleep would end too late.
    if (this.#instants.get(id) === dueAt && (dueAt === null || dueAt > now)) return
    if (dueAt === null || dueAt - now > this.#horizonMs) {
      if (this.#instants.delete(id)) {
        Option.getOrUndefined(FiberMap.getUnsafe(this.#fibers, id))?.interruptUnsafe()
      }
      return
    }
    this.#instants.set(id, dueAt)
    this.#run(
      id,
      Effect.yieldNow.pipe(
        Effect.andThen(Effect.suspend(() => Effect.sleep(Math.max(0, dueAt - this.#clock.currentTimeMillisUnsafe())))),
        Effect.andThen(
          // `fire` sets the next timer, which interrupts this fiber.
          Effect.uninterruptible(
            Effect.sync(() => {
              this.#instants.delete(id)
              fire()
            })
          )
        )
      )
    )
  }
}
