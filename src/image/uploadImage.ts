/**
 * Makes an image of an archive. The host stores the archive as it comes; the image is inserted once all of it is there. What is stored of one that breaks
 * off, or that is refused, is removed.
 */
import { createHash, hash, randomUUID } from "node:crypto"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type ImageInput, imageMachine } from "../../machines/image.ts"
import type { ImageContext } from "../../schemas/contexts/Image.ts"
import {
  InvalidRequest,
  PayloadTooLarge,
  SandboxUnavailable,
  ServiceUnavailable,
  UnsupportedByRuntime
} from "../../schemas/Errors.ts"
import { ImageUploadsReached } from "../../schemas/ImageErrors.ts"
import { claimKey } from "../account/idempotency/claimKey.ts"
import { takenKey } from "../account/idempotency/IdempotencyKeys.ts"
import { Settings } from "../Config.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { newId } from "../platform/identifier/newId.ts"
import { Runtime, type RuntimeRefused, type RuntimeUnavailable } from "../runtime/Runtime.ts"
import { ownImage } from "../sandbox/sandboxImage.ts"
import { Actors } from "../store/Actors.ts"
import { changeBegins } from "../store/Change.ts"
import { ClusterSemaphore } from "../store/ClusterSemaphore.ts"
import { encodeInsert } from "../store/JournalEncoding.ts"
import { insertActors } from "../store/JournalStatements.ts"
import type { AskedUpload } from "./Images.ts"
import { imageQuota } from "./imageQuota.ts"

const kind = "image.upload"
/** Of one account at a time, over all services: a slow one must not occupy a host for others. */
const uploadsMax = 4

const cutOff = new InvalidRequest({
  details: { issues: [{ path: [], message: "The body ended before its end. Send the archive again." }] }
})

/** Passes the body on. */
class Body {
  readonly #pieces: AsyncIterable<Uint8Array>
  readonly #hash = createHash("sha256")
  broke = false

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces
  }

  async *read(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const piece of this.#pieces) {
        this.#hash.update(piece)
        yield piece
      }
    } catch (cause) {
      this.broke = true
      throw cause
    }
  }

  /** The same request names the same image and sends the same bytes. */
  fingerprint({ name }: AskedUpload): string {
    return hash("sha256", JSON.stringify([name, this.#hash.digest("hex")]), "hex")
  }
}

type NotStored = InvalidRequest | PayloadTooLarge | ServiceUnavailable | UnsupportedByRuntime | SandboxUnavailable

const refusalOf = (
  imageId: string,
  error: RuntimeRefused | RuntimeUnavailable,
  body: Body,
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

/** Takes a permit of the account until the scope ends. */
const admission = Effect.map(
  ClusterSemaphore,
  (semaphore) => (accountId: string) =>
    Effect.acquireRelease(
      Effect.filterOrFail(
        semaphore.enter([{ subject: `image uploads ${accountId}`, most: uploadsMax }]),
        (release) => release !== null,
        () => new ImageUploadsReached({ details: { limit: uploadsMax } })
      ),
      (release) => Effect.sync(release)
    )
)

/** The transaction that inserts the image. */
const insertUpload = Effect.gen(function* () {
  const host = yield* ActorHost
  const sql = yield* SqlClient.SqlClient
  const claimed = yield* claimKey
  const requireQuota = yield* imageQuota

  const insert = Effect.fnUntraced(function* (
    { accountId, requestId }: AskedUpload,
    idempotency: { readonly kind: string; readonly key: string; readonly fingerprint: string },
    input: ImageInput
  ) {
    yield* requireQuota({ accountId, kind, key: idempotency.key })
    const { imageId } = input
    const inserted = host.prepare(imageMachine, {
      ...{ id: imageId, accountId, sandboxId: imageId, input, payload: null, cause: "client", requestId },
      idempotency
    })
    yield* changeBegins
    const made = yield* insertActors(sql, [encodeInsert(inserted)], [requestId])
    return made.size === 0 ? null : inserted
  })

  /** Null: another request has taken the key. */
  return (...wanted: Parameters<typeof insert>) => claimed(wanted[0].accountId, insert(...wanted))
})

export const uploadImage = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const runtime = yield* Runtime
  const { imageBytesMax } = yield* Settings
  const sql = yield* SqlClient.SqlClient
  const claimed = yield* claimKey
  const requireQuota = yield* imageQuota
  const insert = yield* insertUpload
  const admitted = yield* admission

  const replay = Effect.fnUntraced(function* (accountId: string, key: string, fingerprint: string) {
    const known = yield* takenKey(sql, { accountId, kind, key }, fingerprint)
    if (known === null) return null
    const { status, context } = yield* Effect.orDie(ownImage(actors, accountId, known.targetId))
    return { status, context }
  })

  /** Only its digest is needed: the key has its image. */
  const skip = (body: Body) =>
    Effect.tryPromise({
      try: async () => {
        let bytes = 0
        for await (const piece of body.read()) {
          bytes += piece.length
          if (bytes > imageBytesMax) throw new PayloadTooLarge({ details: { limitBytes: imageBytesMax } })
        }
      },
      catch: (cause) => (cause instanceof PayloadTooLarge ? cause : cutOff)
    })

  /** The image as it was accepted; of a repeated key, as it is now. */
  return Effect.fnUntraced(
    function* (asked: AskedUpload) {
      const { accountId, name } = asked
      yield* admitted(accountId)
      const key = asked.idempotencyKey ?? `unnamed ${randomUUID()}`
      const body = new Body(asked.body)
      // Before anything is read or stored.
      const allowed = yield* claimed(accountId, Effect.as(requireQuota({ accountId, kind, key }), true))
      if (allowed === null) {
        yield* skip(body)
        return (yield* replay(accountId, key, body.fingerprint(asked)))!
      }
      const imageId = newId("img_")
      yield* runtime.images
        .receive(imageId, body.read())
        .pipe(Effect.catch((error) => refusalOf(imageId, error, body, imageBytesMax)))
      const discard = Effect.ignore(runtime.images.discard(imageId))
      const at = yield* Clock.currentTimeMillis
      const fingerprint = body.fingerprint(asked)
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
