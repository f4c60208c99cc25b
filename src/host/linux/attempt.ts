/** Turns a rejection of a Node call into `RuntimeUnavailable`. */
import { Effect } from "effect"
import { RuntimeUnavailable } from "../../runtime/Runtime.ts"

const MESSAGE_MAX_CHARACTERS = 500

export const unavailable = (message: string): RuntimeUnavailable =>
  new RuntimeUnavailable({ message: message.slice(0, MESSAGE_MAX_CHARACTERS) })

/** `doing` completes "The host failed while …". */
export const attempt = <A>(doing: string, call: () => Promise<A> | A): Effect.Effect<A, RuntimeUnavailable> =>
  Effect.tryPromise({
    try: async () => call(),
    catch: (cause) =>
      unavailable(`The host failed while ${doing}: ${cause instanceof Error ? cause.message : String(cause)}`)
  })
