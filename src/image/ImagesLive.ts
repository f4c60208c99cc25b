/** The Images service on actors. */
import { Effect, Layer } from "effect"
import { imageMachine, imageOfThisVersion } from "../../machines/image.ts"
import type { ImageContext } from "../../schemas/contexts/Image.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { actorPosition, type ListBinding, openActorCursor, pageOf } from "../lists/Paging.ts"
import { transitionLog } from "../lists/TransitionLog.ts"
import { ownImage } from "../sandbox/sandboxImage.ts"
import { type ActorRecord, Actors } from "../store/Actors.ts"
import { buildPlace } from "./build/buildPlace.ts"
import { uploadBuild } from "./build/uploadBuild.ts"
import { createImage } from "./createImage.ts"
import { deleteImage } from "./deleteImage.ts"
import { imageDefinition } from "./ImageDefinition.ts"
import { type ImageFilter, Images } from "./Images.ts"
import { imageView } from "./ImageView.ts"
import { uploadImage } from "./uploadImage.ts"

const bindingOf = (accountId: string, { name, status }: ImageFilter): ListBinding => [
  accountId,
  "images",
  name,
  status?.toSorted() ?? null
]

const viewOf = ({ status, context }: Pick<ActorRecord<ImageContext>, "status" | "context">) =>
  imageView(status, context)

const make = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  yield* host.register(yield* imageDefinition)
  const pull = yield* createImage
  const upload = yield* uploadImage
  const build = yield* uploadBuild

  return Images.of({
    pull: Effect.fn("Images.pull")((asked) => Effect.map(pull(asked), viewOf)),
    build: Effect.fn("Images.build")((asked) => Effect.map(build(asked), viewOf)),
    buildOf: yield* buildPlace,
    upload: Effect.fn("Images.upload")((asked) => Effect.map(upload(asked), viewOf)),
    list: Effect.fn("Images.list")(function* (accountId, filter) {
      const list = bindingOf(accountId, filter)
      const before = yield* openActorCursor(list, filter.cursor)
      const { name, status, limit } = filter
      const found = yield* actors.list({
        kind: "image",
        accountId,
        withOperators: true,
        name,
        status,
        before,
        limit: limit + 1
      })
      const { entries, nextCursor } = pageOf(list, found, limit, actorPosition)
      return { images: (entries as ReadonlyArray<ActorRecord<ImageContext>>).map(viewOf), nextCursor }
    }),
    get: (accountId, imageId) => Effect.map(ownImage(actors, accountId, imageId), viewOf),
    remove: yield* deleteImage,
    transitions: Effect.fn("Images.transitions")(function* (accountId, imageId, page) {
      const record = yield* ownImage(actors, accountId, imageId)
      const present = { ...record, context: imageOfThisVersion(record.context) }
      return yield* transitionLog(imageMachine, present, accountId, page).pipe(Effect.provideService(Actors, actors))
    })
  })
})

export const ImagesLive = Layer.effect(Images, make)
