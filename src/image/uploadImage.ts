/**
 * Makes an image of an archive. The host stores the archive as it comes; the image is inserted once all of it is there. What is stored of one that breaks
 * off, or that is refused, is removed.
 */
import { Clock, Effect } from "effect"
import type { ImageContext } from "../../schemas/contexts/Image.ts"
import {
  type InvalidRequest,
  PayloadTooLarge,
  SandboxUnavailable,
  ServiceUnavailable,
  UnsupportedByRuntime
} from "../../schemas/Errors.ts"
import { Settings } from "../Config.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { newId } from "../platform/identifier/newId.ts"
import { Runtime, type RuntimeRefused, type RuntimeUnavailable } from "../runtime/Runtime.ts"
import type { AskedUpload } from "./Images.ts"
import { imageKeys, keyOf } from "./imageKeys.ts"
import { insertImage } from "./insertImage.ts"
import { cutOff, UploadedBody } from "./UploadedBody.ts"
import { uploadPermit } from "./uploadPermit.ts"

const kind = "image.upload"

type NotStored = InvalidRequest | PayloadTooLarge | ServiceUnavailable | UnsupportedByRuntime | SandboxUnavailable

const refusalOf = (
  imageId: string,
  error: RuntimeRefused | RuntimeUnavailable,
  body: UploadedBody,
  limitBytes: number
): Effect.Effect<never, NotStored> => {
  if (body.broke) return Effect.fail(cutOff)
  if (error._tag === "RuntimeUnavailable") {
    return Effect.andThen(
      Effect.logWarning(`The archive of the image ${imageId} could not be stored`, error.message),
      Effect.fail(new SandboxUnavailable({ details: { status: null } }))
    )
  }
  switch (error.code) {
    case "IMAGE_TOO_LARGE":
      return Effect.fail(new PayloadTooLarge({ details: { limitBytes } }))
    case "IMAGE_UNSUPPORTED":
      return Effect.fail(new UnsupportedByRuntime({ message: error.message }))
    default:
      return Effect.fail(new ServiceUnavailable({ message: error.message }))
  }
}

export const uploadImage = Effect.gen(function* () {
  const host = yield* ActorHost
  const runtime = yield* Runtime
  const { imageBytesMax } = yield* Settings
  const { replay, isFree } = yield* imageKeys(kind)
  const insert = yield* insertImage
  const admitted = yield* uploadPermit

  /** The image as it was accepted; of a repeated key, as it is now. */
  return Effect.fnUntraced(
    function* (asked: AskedUpload) {
      const { accountId, name } = asked
      yield* admitted(accountId)
      const key = keyOf(asked)
      const body = new UploadedBody(asked.body)
      // Before anything is read or stored.
      if (!(yield* isFree(accountId, key))) {
        yield* body.skip(imageBytesMax)
        return (yield* replay(accountId, key, body.fingerprint([name])))!
      }
      const imageId = newId("img_")
      yield* runtime.images
        .receive(imageId, body.read())
        .pipe(Effect.catch((error) => refusalOf(imageId, error, body, imageBytesMax)))
      const discard = Effect.ignore(runtime.images.discard(imageId))
      const at = yield* Clock.currentTimeMillis
      const fingerprint = body.fingerprint([name])
      const input = { imageId, accountId, name, reference: null, credentials: null, at }
      const inserted = yield* insert(asked, { kind, key, fingerprint }, input).pipe(Effect.onError(() => discard))
      if (inserted === null) {
        yield* discard
        return (yield* replay(accountId, key, fingerprint))!
      }
      yield* host.adopt(inserted)
      const { value, context } = inserted.row.snapshot
      return { status: value, context: context as ImageContext }
    },
    Effect.scoped,
    Effect.uninterruptible
  )
})
