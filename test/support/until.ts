/** The waits of tests: each polls until a condition holds, and fails with the last value that it saw. */
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Schedule } from "effect"

/** The value when it holds; the machine may be slow. */
export const until = <A, E, R>(look: Effect.Effect<A, E, R>, holds: (found: A) => boolean) =>
  look.pipe(Effect.repeat({ until: holds, schedule: Schedule.spaced(10) }), Effect.timeout("100 seconds"))

interface Patience<A> {
  readonly withinMs?: number
  readonly everyMs?: number
  /** Describes the last value in the error. */
  readonly otherwise?: (found: A) => string
}

/** The same for promises. Throws `otherwise` after `withinMs`. */
export const untilSeen = async <A>(
  look: () => A | Promise<A>,
  holds: (found: A) => boolean,
  { withinMs = 90_000, everyMs = 20, otherwise = (found) => `It stays ${JSON.stringify(found)}` }: Patience<A> = {}
): Promise<A> => {
  for (const end = performance.now() + withinMs; ; await sleep(everyMs)) {
    const found = await look()
    if (holds(found)) return found
    if (performance.now() > end) throw new Error(`Not within ${withinMs} ms. ${otherwise(found)}`)
  }
}

/** The first result of `look` that is truthy. */
export const untilFound = async <A>(look: () => A | Promise<A>, patience: Patience<A> = {}): Promise<NonNullable<A>> =>
  (await untilSeen(look, Boolean, { otherwise: () => `It did not come about: ${look}`, ...patience })) as NonNullable<A>
