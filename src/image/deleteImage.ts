/** DELETE of an image: refused while a Sandbox or a snapshot needs it. */
import { Effect } from "effect"
import { imageMachine } from "../../machines/image.ts"
import { NotFound, SandboxUnavailable } from "../../schemas/Errors.ts"
import { ImageInUse, ImageOfOperator } from "../../schemas/ImageErrors.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { awaitState } from "../engine/ActorWait.ts"
import { isTagged } from "../engine/taggedStates.ts"
import { ownImage } from "../sandbox/sandboxImage.ts"
import { Actors, operatorAccount } from "../store/Actors.ts"
import type { Journal } from "../store/Journal.ts"
import type { Images } from "./Images.ts"
import { isImageGone } from "./imageStates.ts"
import { imageUse } from "./imageUse.ts"

const deleteAnswerMs = 10_000

const isUsable = isTagged(imageMachine, "bootable")

export const deleteImage = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const use = yield* imageUse
  const services = yield* Effect.context<ActorHost | Journal>()

  const remove: Images["Service"]["remove"] = Effect.fn("Images.remove")(function* (accountId, imageId, { requestId }) {
    const { status, revision, accountId: owner } = yield* ownImage(actors, accountId, imageId)
    if (owner === operatorAccount) return yield* new ImageOfOperator()
    if (isImageGone(status)) return
    if (isUsable(status)) {
      // A Sandbox that is created after this keeps the image on the hosts until it is gone (`ImageDefinition.ts`).
      const used = yield* use.of(accountId, imageId)
      if (used.sandboxes + used.snapshots > 0) return yield* new ImageInUse({ details: used })
    }
    yield* host.send(imageMachine, imageId, { type: "DELETE" }, { cause: "client", requestId, revision }).pipe(
      Effect.catchTags({
        EventRefused: Effect.die,
        ActorNotFound: () => Effect.fail(new NotFound()),
        MailboxFull: () => Effect.fail(new SandboxUnavailable({ details: { status: null } }))
      })
    )
    yield* awaitState(imageMachine, imageId, ({ value }) => isImageGone(value), deleteAnswerMs).pipe(
      Effect.provideContext(services)
    )
  })
  return remove
})
