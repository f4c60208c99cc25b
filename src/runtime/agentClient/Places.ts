/**
 * So many at a time: whoever comes when all places are taken waits in line, for a while.
 *
 * Plain counters, because every command takes two of them.
 */
import { Effect, type Scope } from "effect"
import { EXECUTE_WAIT_MAX_MS, SpawnRefused } from "../Guest.ts"

export class Places {
  #free: number
  readonly #waitingMax: number
  readonly #waiting = new Set<() => void>()

  constructor(places: number, waitingMax: number) {
    this.#free = places
    this.#waitingMax = waitingMax
  }

  /** A place until the scope closes. Refused when none came free in time, or too many wait already: then nothing was started. */
  readonly take: Effect.Effect<void, SpawnRefused, Scope.Scope> = Effect.suspend(() =>
    Effect.acquireRelease(this.#enter, () => this.#leave, { interruptible: true })
  )

  /** Does this in a place. */
  within<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SpawnRefused, R> {
    return Effect.acquireUseRelease(
      Effect.interruptible(this.#enter),
      () => effect,
      () => this.#leave
    )
  }

  readonly #enter: Effect.Effect<void, SpawnRefused> = Effect.suspend(() => {
    if (this.#free > 0) {
      this.#free--
      return Effect.void
    }
    if (this.#waiting.size >= this.#waitingMax) return Effect.fail(refused())
    return Effect.callback<void, SpawnRefused>((resume) => {
      const give = () => {
        clearTimeout(timer)
        resume(Effect.void)
      }
      const giveUp = () => {
        clearTimeout(timer)
        this.#waiting.delete(give)
      }
      const timer = setTimeout(() => {
        giveUp()
        resume(Effect.fail(refused()))
      }, EXECUTE_WAIT_MAX_MS)
      this.#waiting.add(give)
      return Effect.sync(giveUp)
    })
  })

  /** The place goes to whoever waits longest. */
  readonly #leave: Effect.Effect<void> = Effect.sync(() => {
    for (const next of this.#waiting) {
      this.#waiting.delete(next)
      next()
      return
    }
    this.#free++
  })
}

const refused = () =>
  new SpawnRefused({
    code: "TOO_MANY_PROCESSES",
    message: "Too many commands run in this Sandbox; this one was not started. Try again when some have ended."
  })
