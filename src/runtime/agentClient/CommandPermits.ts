/** A semaphore with a bounded queue: a command waits for a permit only for a while, and only if few others wait. */
import { Effect, Scope, Semaphore } from "effect"
import { EXECUTE_WAIT_MAX_MS, SpawnRefused } from "../Guest.ts"

export class CommandPermits {
  readonly #permits: Semaphore.Semaphore
  readonly #waitingMax: number
  #waiting = 0

  constructor(permits: number, waitingMax: number) {
    this.#permits = Semaphore.makeUnsafe(permits)
    this.#waitingMax = waitingMax
  }

  /** A permit until the scope closes. Refused when none came free in time, or too many wait already: then nothing was started. */
  readonly take: Effect.Effect<void, SpawnRefused, Scope.Scope> = Effect.suspend(() => {
    // A free permit costs no timer: every command takes two. It goes to the longest waiting command, if any.
    const free = this.#waiting > 0 ? Effect.succeed(false) : this.#permits.takeIfAvailable(1)
    return Effect.acquireRelease(free, (taken) => (taken ? this.#permits.release(1) : Effect.void)).pipe(
      Effect.flatMap((taken) => (taken ? Effect.void : this.#wait))
    )
  })

  /** Runs an effect with a permit. */
  within<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SpawnRefused, R> {
    return Effect.scopedWith((scope) => Effect.andThen(Scope.provide(this.take, scope), effect))
  }

  readonly #wait: Effect.Effect<void, SpawnRefused, Scope.Scope> = Effect.suspend(() => {
    if (this.#waiting >= this.#waitingMax) return Effect.fail(refused())
    this.#waiting++
    return this.#permits
      .takeScoped(1)
      .pipe(
        Effect.timeoutOrElse({ duration: EXECUTE_WAIT_MAX_MS, orElse: () => Effect.fail(refused()) }),
        Effect.ensuring(Effect.sync(() => void this.#waiting--))
      )
  })
}

const refused = () =>
  new SpawnRefused({
    code: "TOO_MANY_PROCESSES",
    message: "Too many commands run in this Sandbox; this one was not started. Try again when some have ended."
  })
