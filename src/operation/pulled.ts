/** A stream whose client takes a piece whenever it has sent the one before. */
import { Effect, Exit, Scope } from "effect"

export interface Pulled<A> {
  /** Calls back once; with null when the stream is over. Not again before it has called back. */
  readonly next: (then: (piece: A | null) => void) => void
  readonly close: () => void
}

/**
 * @param next One piece; null: there will be no more. A failure of it ends the stream.
 * @param run In the background.
 * @param scope Closed with the stream.
 */
export const pulled = <A>(
  next: Effect.Effect<A | null>,
  run: (effect: Effect.Effect<void>) => unknown,
  scope: Scope.Closeable
): Pulled<A> => {
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
          Effect.catchCause((cause) => Effect.as(Effect.logWarning("Output could not be read", cause), null)),
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
