/**
 * The moment from which on what a client asked for may have been done, whatever becomes of the answer: whoever sends the change on (to an
 * actor, the database or a guest) tells it first.
 *
 * What fails before it changed nothing. What fails after it (a commit whose answer was lost, a wait that was given up, a read that follows)
 * leaves the outcome unknown.
 */
import { Context, Effect } from "effect"

/** Who wants to know of it: whoever answers the client. Nobody, by default. */
export const ChangeWitness = Context.Reference<() => void>("atoll/store/ChangeWitness", {
  defaultValue: () => () => {}
})

export const changeBegins: Effect.Effect<void> = Effect.map(ChangeWitness, (tell) => tell())
