/** A pull stream: its client takes the next piece after it has sent the previous one (backpressure). */
import { Effect, Exit, Scope } from "effect"

export interface PullStream<A> {
  /** Calls back once, with null at the end. It is called again only after it has called back. */
  readonly next: (then: (piece: A | null) => void) => void
  readonly close: () => void
}

/**
 * @param next One piece; null: the end. A failure ends the stream.
 * @param run Runs an effect in the background.
 * @param scope Closed with the stream.
 */
export const pullStream = <A>(
  next: Effect.Effect<A | null>,
  run: (effect: Effect.Effect<void>) => unknown,
  scope: Scope.Closeable
): PullStream<A> => {
  let waiting: ((piece: A | null) => void) | null = null
  const give = (piece: A | null) => {
    const then = waiting
    waiting = null
    then?.(piece)
  }
  let isClosed = false
  return {
    next: (then) => {
      waiting = then
      if (isClosed) return give(null)
      run(
        next.pipe(
          Effect.catchCause((cause) => Effect.as(Effect.logWarning("Could not read output", cause), null)),
          Effect.map(give)
        )
      )
    },
    close: () => {
      if (isClosed) return
      isClosed = true
      run(Scope.close(scope, Exit.void))
      give(null)
    }
  }
}
