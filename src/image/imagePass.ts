/**
 * The reconciler of the images of one host: discards archives that no image waits for, and removes images whose digest no image of any account has, such
 * as one whose pull was given up. An image that had failed as lost becomes ready again where the host has it.
 *
 * An image that a host has lost is pulled again by the next boot that needs it. What becomes of one that was uploaded is decided by the caller, who knows the
 * other hosts (`uploadedImages.ts`).
 */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { Images } from "../runtime/Runtime.ts"
import { textColumn } from "../store/Columns.ts"
import { fieldOf } from "../store/SnapshotFields.ts"
import { archivedImageStates, awaitedImageStates } from "./imageStates.ts"
import { uploadedImages } from "./uploadedImages.ts"

/** Log lines of one pass name at most so many images. */
const namedMax = 64

export const imagePass = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { tellFound } = yield* uploadedImages

  /** An image that is being pulled may get any digest: nothing is removed meanwhile. */
  const findPulling = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ id: Schema.String }),
    execute: () => sql`
      select id from actors where kind = 'image' and ended_at is null and status = any(${textColumn(awaitedImageStates)}::text[]) limit 1`
  })
  const findKnown = SqlSchema.findAll({
    Request: Schema.Array(Schema.String),
    Result: Schema.Struct({ digest: Schema.String }),
    execute: (digests) => sql`
      select distinct ${sql.literal(fieldOf("actors", "digest", "text"))} as digest from actors
      where kind = 'image' and ended_at is null and ${sql.literal(fieldOf("actors", "digest", "text"))} = any(${textColumn(digests)}::text[])`
  })

  /** One whose build a host has just received the archive of is not awaited yet. */
  const findArchived = SqlSchema.findAll({
    Request: Schema.Array(Schema.String),
    Result: Schema.Struct({ id: Schema.String }),
    execute: (ids) => sql`
      select id from actors where kind = 'image' and status = any(${textColumn(archivedImageStates)}::text[]) and id = any(${textColumn(ids)}::text[])`
  })

  /** Archives of images that are made, have failed, or were never inserted. */
  const discardUploads = Effect.fnUntraced(function* ({ uploads, discard }: Pick<Images, "uploads" | "discard">) {
    const ids = yield* uploads
    if (ids.length === 0) return
    const awaited = new Set((yield* Effect.orDie(findArchived(ids))).map(({ id }) => id))
    for (const id of ids) if (!awaited.has(id)) yield* discard(id)
  })

  /** One pass. Returns the digests there that an image has. */
  return Effect.fnUntraced(function* (images: Pick<Images, "inventory" | "remove" | "uploads" | "discard">) {
    const { inventory, remove } = images
    yield* discardUploads(images)
    const digests = yield* inventory
    if (digests.length === 0) return []
    yield* tellFound(digests)
    const isPulled = (yield* Effect.orDie(findPulling())).length > 0
    const known = new Set((yield* Effect.orDie(findKnown(digests))).map(({ digest }) => digest))
    if (isPulled) return [...known]
    for (const [index, digest] of digests.filter((each) => !known.has(each)).entries()) {
      if (index < namedMax) yield* Effect.logWarning(`Removing the image ${digest}, which no account has`)
      // A failed removal must not block the others.
      yield* remove(digest).pipe(
        Effect.catch((error) =>
          index < namedMax ? Effect.logWarning(`The image ${digest} is not removed yet`, error.message) : Effect.void
        )
      )
    }
    return [...known]
  })
})

export type ImagePass = Effect.Success<typeof imagePass>
