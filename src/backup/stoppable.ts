import { Effect } from "effect"
import { type ArchiveUnusable, unusable } from "./ArchiveUnusable.ts"

/** What a promise does; where it is interrupted it is told so by its signal, and its end is waited for. */
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
