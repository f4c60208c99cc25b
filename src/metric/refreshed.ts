/** Gauges that are read when somebody asks for metrics. */
import { Clock, Effect } from "effect"

const patience = "1 second"

/**
 * Reads them anew where they are older than `freshForMs`, however often it is asked. They stay as they are where what is read fails or does not
 * answer soon.
 */
export const refreshed = <E, R>(read: Effect.Effect<void, E, R>, freshForMs: number): Effect.Effect<void, never, R> => {
  let readAt = Number.NEGATIVE_INFINITY
  return Effect.flatMap(Clock.monotonicTimeNanos, (nanos) => {
    const now = Number(nanos) / 1e6
    if (now - readAt < freshForMs) return Effect.void
    readAt = now
    return read
  }).pipe(Effect.timeout(patience), Effect.ignore)
}
