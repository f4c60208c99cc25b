import { Effect, Schedule } from "effect"

/** What is seen when it holds at last; the machine may be slow. */
export const until = <A, E, R>(look: Effect.Effect<A, E, R>, holds: (found: A) => boolean) =>
  look.pipe(Effect.repeat({ until: holds, schedule: Schedule.spaced(10) }), Effect.timeout("100 seconds"))
