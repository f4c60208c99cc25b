import { Effect } from "effect"
import { type ArchiveUnusable, unusable } from "./ArchiveUnusable.ts"

/** Runs a promise. An interruption aborts its signal, and waits for its end. */
export const stoppable = <A>(act: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, ArchiveUnusable> =>
  Effect.callback((resume) => {
    const stop = new AbortController()
    const ended = act(stop.signal).then(
      (value) => resume(Effect.succeed(value)),
      (cause) => resume(Effect.fail(unusable(cause)))
    )
    return Effect.promise(() => {
      stop.abort()
      return ended
    })
  })
