/** The beginning of the service's stop: long waits then answer with the present state, and connections end. */
import { Context, Effect, Layer } from "effect"

export class Shutdown extends Context.Service<
  Shutdown,
  {
    /** Calls the listeners, in the order in which they were added. */
    readonly begin: () => void
    readonly hasBegun: () => boolean
    /** Adds a listener. Call the result to remove it. */
    readonly onBegin: (told: () => void) => () => void
    /** Ends once the stop has begun. */
    readonly begun: Effect.Effect<void>
  }
>()("atoll/platform/shutdown/Shutdown") {
  static readonly layer = Layer.sync(Shutdown, () => {
    let hasBegun = false
    const listeners = new Set<() => void>()
    const onBegin = (told: () => void) => {
      listeners.add(told)
      return () => void listeners.delete(told)
    }
    return Shutdown.of({
      begin: () => {
        hasBegun = true
        for (const told of [...listeners]) told()
      },
      hasBegun: () => hasBegun,
      onBegin,
      begun: Effect.callback<void>((resume) => {
        if (hasBegun) return resume(Effect.void)
        const unheard = onBegin(() => resume(Effect.void))
        return Effect.sync(unheard)
      })
    })
  })
}
