/** What becomes of uploaded images whose bytes no host has any more: no registry has them, so they fail, until a host has them after all. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { imageMachine } from "../../machines/image.ts"
import { publicText } from "../../schemas/PublicText.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { fieldOf } from "../store/SnapshotFields.ts"
import { failedImageStates, usableImageStates } from "./imageStates.ts"

const reason = {
  code: "IMAGE_LOST",
  message: publicText`No host in use has the image any more. It was uploaded, so no registry has it either: upload it again.`
}

export const UploadedImage = Schema.Struct({
  id: Schema.String,
  digest: Schema.String,
  /** Of its actor. */
  revision: Int8
})
export type UploadedImage = typeof UploadedImage.Type

export const uploadedImages = Effect.gen(function* () {
  const host = yield* ActorHost
  const sql = yield* SqlClient.SqlClient
  const digest = sql.literal(fieldOf("a", "digest", "text"))

  const isUploaded = (states: ReadonlyArray<string>) => sql`
    a.kind = 'image' and a.ended_at is null and a.status = any(${textColumn(states)}::text[])
      and ${sql.literal(fieldOf("a", "reference", "text"))} is null`

  const findUsable = SqlSchema.findAll({
    Request: Schema.Void,
    Result: UploadedImage,
    execute: () =>
      sql`select a.id, ${digest} as digest, a.revision from actors a where ${isUploaded(usableImageStates)}`
  })
  const findFailed = SqlSchema.findAll({
    Request: Schema.Array(Schema.String),
    Result: UploadedImage,
    execute: (digests) => sql`
      select a.id, ${digest} as digest, a.revision from actors a
      where ${isUploaded(failedImageStates)} and ${digest} = any(${textColumn(digests)}::text[])`
  })

  const tell = (id: string, revision: number, event: EventOf<typeof imageMachine>) =>
    host
      .send(imageMachine, id, event, { cause: "runtime", revision })
      .pipe(Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.void))

  return {
    /** Those of which Sandboxes can be made. */
    usable: Effect.suspend(() => Effect.orDie(findUsable())),

    tellLost: (images: ReadonlyArray<UploadedImage>) =>
      Effect.forEach(
        images,
        ({ id, revision }) =>
          Effect.andThen(
            Effect.logError(`No host has the uploaded image ${id} any more`),
            tell(id, revision, { type: "IMAGE_LOST", reason })
          ),
        { discard: true }
      ),

    /** Images that were lost are ready again where a host has one of these. */
    tellFound: Effect.fnUntraced(function* (digests: ReadonlyArray<string>) {
      if (digests.length === 0) return
      for (const { id, revision } of yield* Effect.orDie(findFailed(digests))) {
        yield* Effect.logWarning(`A host has the lost image ${id} after all`)
        yield* tell(id, revision, { type: "IMAGE_FOUND" })
      }
    })
  }
})

export type UploadedImages = Effect.Success<typeof uploadedImages>
