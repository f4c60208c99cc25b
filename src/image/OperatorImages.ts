/**
 * The images that the operator gives to all accounts: those of ATOLL_IMAGES. Each is an actor of no account, with the name and the reference of the setting.
 *
 * A tag is resolved by the pull, once. A change of the setting makes another image: the former one is deleted, which refuses new Sandboxes, and keeps
 * its bytes while a Sandbox or a snapshot has it. An image that could not be pulled is pulled again at the next start, and in growing intervals.
 *
 * Several services of one database agree by a lock: the one that starts last decides.
 */
import { Clock, Effect, Layer, Schedule, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { imageMachine } from "../../machines/image.ts"
import { Settings, type SettingsShape } from "../Config.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { isTagged } from "../engine/taggedStates.ts"
import { newId } from "../platform/identifier/newId.ts"
import { worker } from "../platform/worker/Worker.ts"
import { operatorAccount } from "../store/Actors.ts"
import { Int8 } from "../store/Columns.ts"
import { encodeInsert } from "../store/JournalEncoding.ts"
import { insertActors } from "../store/JournalStatements.ts"
import { fieldOf } from "../store/SnapshotFields.ts"

/** Each pull leaves a record, so the intervals grow. */
const againAfter = Schedule.min([Schedule.exponential("10 minutes"), Schedule.spaced("1 day")])
const cause = "operator"

const isAwaited = isTagged(imageMachine, "awaited")
const isUsable = isTagged(imageMachine, "bootable")
const isMoving = isTagged(imageMachine, "moving")
/** It is being deleted, and takes no new Sandboxes. */
const isLeaving = (status: string) => isMoving(status) && !isAwaited(status)

type NamedImage = SettingsShape["operatorImages"][number]

const isOf =
  ({ name, reference }: NamedImage) =>
  (other: NamedImage) =>
    other.name === name && other.reference === reference

const operatorImages = Effect.gen(function* () {
  const host = yield* ActorHost
  const sql = yield* SqlClient.SqlClient
  const { operatorImages: wanted } = yield* Settings

  const findOwn = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({
      id: Schema.String,
      status: Schema.String,
      revision: Int8,
      name: Schema.String,
      reference: Schema.String
    }),
    execute: () => sql`
      select id, status, revision, ${sql.literal(fieldOf("actors", "name", "text"))} as name,
        ${sql.literal(fieldOf("actors", "reference", "text"))} as reference
      from actors where kind = 'image' and account_id = ${operatorAccount} and ended_at is null`
  })

  const prepare = ({ name, reference }: NamedImage, at: number) => {
    const imageId = newId("img_")
    return host.prepare(imageMachine, {
      id: imageId,
      accountId: operatorAccount,
      sandboxId: imageId,
      input: { imageId, accountId: operatorAccount, name, reference, credentials: null, at },
      payload: null,
      cause,
      requestId: null,
      idempotency: null
    })
  }

  /** Looking and inserting are one step for all services. @param isStart The setting may be another one than that of the images. */
  const chosen = Effect.fnUntraced(function* (isStart: boolean) {
    yield* sql`select pg_advisory_xact_lock(hashtextextended('images of the operator', 0))`
    const own = (yield* findOwn()).filter(({ status }) => !isLeaving(status))
    const isGood = ({ status }: { readonly status: string }) => isAwaited(status) || isUsable(status)
    const isKept = (image: NamedImage) => wanted.some(isOf(image))
    const missing = wanted.filter((image) => {
      const those = own.filter(isOf(image))
      return !those.some(isGood) && (isStart || those.length > 0)
    })
    const at = yield* Clock.currentTimeMillis
    const made = missing.map((image) => prepare(image, at))
    if (made.length > 0)
      yield* insertActors(
        sql,
        made.map(encodeInsert),
        made.map(({ row }) => row.id)
      )
    const left = own.filter((image) => (isKept(image) ? !isGood(image) : isStart))
    return { made, left }
  })

  return Effect.fnUntraced(function* (isStart: boolean) {
    const { made, left } = yield* sql.withTransaction(chosen(isStart))
    for (const inserted of made) yield* host.adopt(inserted)
    for (const { id, revision } of left) {
      yield* host
        .send(imageMachine, id, { type: "DELETE" }, { cause, revision })
        .pipe(Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.void))
    }
  })
})

export const OperatorImages = {
  /** Needs the kind of images to be registered. */
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const pass = yield* operatorImages
      const { operatorImages: wanted } = yield* Settings
      const later = Effect.schedule(pass(false), againAfter)
      const passes = wanted.length === 0 ? pass(true) : Effect.andThen(pass(true), later)
      yield* worker("images of the operator", Effect.andThen(passes, Effect.never))
    })
  )
}
