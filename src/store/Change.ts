/**
 * Point of no return: from here the client's change may apply even if the response is lost. The code that sends the change on (to an
 * actor, the database or a guest) reports this first.
 *
 * A failure before this point changed nothing. A failure after it (a commit whose answer was lost, a wait that timed out, a later read)
 * leaves the outcome unknown.
 */
import { Context, Effect } from "effect"

/** The listener: the code that answers the client. The default does nothing. */
export const ChangeWitness = Context.Reference<() => void>("atoll/store/ChangeWitness", {
  defaultValue: () => () => {}
})

export const changeBegins: Effect.Effect<void> = Effect.map(ChangeWitness, (tell) => tell())
