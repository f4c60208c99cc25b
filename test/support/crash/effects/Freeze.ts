/** A service is frozen as by SIGSTOP: all that would leave it or reach it is held, and arrives in that order once it is woken. */
import { type Clock, Effect, Stream } from "effect"

export class Freeze {
  #isFrozen = false
  readonly #held: Array<() => void> = []
  #begun = Promise.withResolvers<void>()

  /** Resolves once it is frozen. */
  get begun(): Promise<void> {
    return this.#begun.promise
  }

  get isFrozen(): boolean {
    return this.#isFrozen
  }

  freeze(): void {
    this.#isFrozen = true
    this.#begun.resolve()
  }

  wake(): void {
    this.#isFrozen = false
    this.#begun = Promise.withResolvers<void>()
    for (const action of this.#held.splice(0)) action()
  }

  /** Now, or when it is woken. */
  readonly when = (action: () => void): void => {
    if (this.#isFrozen) this.#held.push(action)
    else action()
  }

  /** Waits while it is frozen. */
  readonly pass: Effect.Effect<void> = Effect.suspend(() =>
    this.#isFrozen ? Effect.callback<void>((resume) => this.when(() => resume(Effect.void))) : Effect.void
  )

  readonly #around = <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    this.pass.pipe(
      Effect.andThen(call),
      Effect.tap(() => this.pass),
      Effect.tapCause(() => this.pass)
    )

  /** Time goes on without it; what it waits for comes late. */
  clock(clock: Clock.Clock): Clock.Clock {
    const sleep: Clock.Clock["sleep"] = (duration) => Effect.andThen(clock.sleep(duration), this.pass)
    return new Proxy(clock, {
      get: (target, property) => (property === "sleep" ? sleep : Reflect.get(target, property, target))
    })
  }

  /** A program outside of the service, as the service sees it: calls, answers and streams wait. */
  outside<A extends object>(program: A): A {
    return new Proxy(program, {
      get: (target, property) => this.#seen(Reflect.get(target, property, target), target)
    })
  }

  #seen(value: unknown, of: object): unknown {
    if (Effect.isEffect(value)) return this.#around(Effect.map(value, (found) => this.#answer(found)))
    if (Stream.isStream(value)) return Stream.mapEffect(value, (one) => Effect.as(this.pass, one))
    if (typeof value === "function") return (...args: ReadonlyArray<unknown>) => this.#seen(value.apply(of, args), of)
    // The processes and the files of a guest.
    return typeof value === "object" && value !== null && !("suspend" in value) ? this.outside(value) : value
  }

  /** The guest of a machine is outside, too. */
  #answer(found: unknown): unknown {
    return typeof found === "object" && found !== null && "processes" in found ? this.outside(found) : found
  }
}
