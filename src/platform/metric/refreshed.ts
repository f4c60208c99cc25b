/** Reads gauges when metrics are requested. */
import { Clock, Effect } from "effect"

const patience = "1 second"

/**
 * Reads the gauges again if they are older than `freshForMs`, independently of the number of requests. They keep their values if the read fails or
 * does not answer soon.
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
