/** Where the build of an image runs, and where its output is afterwards. */
import { Effect } from "effect"
import { imageMachine, imageOfThisVersion } from "../../../machines/image.ts"
import type { ImageContext } from "../../../schemas/contexts/Image.ts"
import { NotFound } from "../../../schemas/Errors.ts"
import type { ActorHost } from "../../engine/ActorHost.ts"
import { awaitState } from "../../engine/ActorWait.ts"
import { ownImage } from "../../sandbox/sandboxImage.ts"
import { Actors } from "../../store/Actors.ts"
import type { Journal } from "../../store/Journal.ts"
import type { BuildPlace, Images } from "../Images.ts"

const waitMs = 30_000

const placeIn = (context: ImageContext): BuildPlace | null => {
  const { build } = imageOfThisVersion(context)
  return build === null ? null : { sandboxId: build.sandboxId, operationId: build.operationId, isOver: build.isOver }
}

const hasBegun = (place: BuildPlace | null) => place === null || place.isOver || place.operationId !== null

export const buildPlace = Effect.gen(function* () {
  const actors = yield* Actors
  const services = yield* Effect.context<ActorHost | Journal>()

  const find: Images["Service"]["buildOf"] = Effect.fn("Images.buildOf")(function* (accountId, imageId, { waits }) {
    const place = placeIn((yield* ownImage(actors, accountId, imageId)).context)
    if (place === null) return yield* new NotFound({ message: "The image was not built, so there is no output." })
    if (!waits || hasBegun(place)) return place
    const state = yield* awaitState(imageMachine, imageId, ({ context }) => hasBegun(placeIn(context)), waitMs).pipe(
      Effect.provideContext(services)
    )
    return (state === null ? null : placeIn(state.context)) ?? place
  })
  return find
})
