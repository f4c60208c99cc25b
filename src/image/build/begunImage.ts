/** The state of a new image in its answer: one that has to be built is `building` a moment after it is accepted. */
import { Effect } from "effect"
import { imageMachine } from "../../../machines/image.ts"
import type { ImageContext } from "../../../schemas/contexts/Image.ts"
import type { ActorHost } from "../../engine/ActorHost.ts"
import { awaitState } from "../../engine/ActorWait.ts"
import type { Journal } from "../../store/Journal.ts"
import type { ActorInsert } from "../../store/JournalRecord.ts"

const waitMs = 5000

export const begunImage = Effect.gen(function* () {
  const services = yield* Effect.context<ActorHost | Journal>()
  return Effect.fnUntraced(function* ({ row: { id, snapshot } }: ActorInsert) {
    const context = snapshot.context as ImageContext
    if (context.build === null) return { status: snapshot.value, context }
    const state = yield* awaitState(imageMachine, id, ({ value }) => value !== snapshot.value, waitMs).pipe(
      Effect.provideContext(services)
    )
    return state === null ? { status: snapshot.value, context } : { status: state.value, context: state.context }
  })
})
