/** The fenced takeover write: changes an actor although its owner in another process does not answer. */

import type { Clock } from "effect"
import { Effect, type Fiber } from "effect"
import type { Journal } from "../store/Journal.ts"
import type { CommitOutcome } from "../store/JournalRecord.ts"
import type { ActorDefinition, ActorState } from "./ActorDefinition.ts"
import { type ActorError, ActorFailed, ActorNotFound, KeyContended, TransitionRefused } from "./ActorError.ts"
import { type Message, unawaited } from "./Message.ts"
import type { OtherOwners } from "./OtherOwners.ts"
import type { OwnActors } from "./OwnActors.ts"
import { metDefect } from "./ownerDefect.ts"
import { commitOf, takeStep } from "./takeStep.ts"
import { countTransition } from "./transitionMetrics.ts"

/** A live owner answers in milliseconds. */
const ownerAnswersWithinMs = 500

/** After so many attempts the message is sent like all others. */
const takeOverTimesMax = 5

export interface TakeOver {
  readonly journal: Journal["Service"]
  readonly clock: Clock.Clock
  readonly fork: (effect: Effect.Effect<unknown>) => Fiber.Fiber<unknown, unknown>
  readonly actors: OwnActors
  readonly others: OtherOwners
  readonly committed: (state: ActorState) => void
}

/**
 * Asks the owner. If it does not answer within the time above, the transition is decided and committed here, fenced by its revision. The
 * owner, or the successor of a dead one, runs its commands. Null: the actor changed during each attempt.
 */
export const takeOverWrite = Effect.fnUntraced(function* (
  { journal, clock, fork, actors, others, committed }: TakeOver,
  definition: ActorDefinition,
  id: string,
  message: Message
): Effect.fn.Return<ActorState | null, ActorError> {
  const { kind } = definition
  const answer = yield* others.ask(kind, id, message, ownerAnswersWithinMs)
  if (answer instanceof ActorFailed) return yield* Effect.die(metDefect(id, answer))
  if (answer instanceof KeyContended) return yield* Effect.die(new Error(answer.message))
  if (answer instanceof Error) return yield* answer
  if (answer !== null) return answer
  for (let attempt = 0; attempt < takeOverTimesMax; attempt++) {
    const row = yield* journal.load(id)
    if (row === null || row.kind !== kind) return yield* new ActorNotFound({ actorId: id })
    const actor = actors.newActor(id, definition)
    actor.become(row)
    const step = takeStep(actor, message, actor.pending, actor.deadlines, clock.currentTimeMillisUnsafe())
    if (!("change" in step)) {
      step.decline()
      if (step.verdict.type === "unchanged") return actor.state()
      return yield* step.refusal()
    }
    const { verdict, change } = step
    const outcome = yield* Effect.callback<CommitOutcome>((resume) =>
      journal.commit(commitOf(actor, change, null), (outcome) => resume(Effect.succeed(outcome)), message.span)
    )
    if (outcome === "failed") return yield* Effect.die(new TransitionRefused({ actorId: id }))
    if (outcome === "fenced") continue
    actor.snapshot = verdict.snapshot
    actor.revision += 1
    countTransition(kind, verdict.snapshot.value as string)
    const state = actor.state()
    committed(state)
    // Wakes the owner, if there is one, for the new commands.
    fork(others.carry(definition, id, unawaited(null, "wake", { revision: actor.revision })))
    return state
  }
  return null
})
