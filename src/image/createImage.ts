/** Pull: one image for each Idempotency-Key, within the account's limits. */
import { randomUUID } from "node:crypto"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { imageMachine } from "../../machines/image.ts"
import type { ImageContext } from "../../schemas/contexts/Image.ts"
import { InvalidRequest } from "../../schemas/Errors.ts"
import { claimKey } from "../account/idempotency/claimKey.ts"
import { takenKey } from "../account/idempotency/IdempotencyKeys.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { newId } from "../platform/identifier/newId.ts"
import { SandboxEnvs } from "../sandbox/SandboxEnvs.ts"
import { ownImage } from "../sandbox/sandboxImage.ts"
import { Actors } from "../store/Actors.ts"
import { changeBegins } from "../store/Change.ts"
import { encodeInsert } from "../store/JournalEncoding.ts"
import { insertActors } from "../store/JournalStatements.ts"
import type { AskedImage } from "./Images.ts"
import { imageQuota } from "./imageQuota.ts"

const kind = "image.pull"

const halfGiven = (missing: "username" | "password") =>
  new InvalidRequest({
    details: { issues: [{ path: [missing], message: "Send username and password, or neither." }] }
  })

/** Null: the registry is asked without. */
const credentialsIn = ({ username, password }: AskedImage["request"]) => {
  if (username === null && password === null) return Effect.succeed({})
  if (username === null) return Effect.fail(halfGiven("username"))
  if (password === null) return Effect.fail(halfGiven("password"))
  return Effect.succeed({ username, password })
}

export const createImage = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const envs = yield* SandboxEnvs
  const sql = yield* SqlClient.SqlClient
  const claimed = yield* claimKey
  const requireQuota = yield* imageQuota

  const replay = Effect.fnUntraced(function* ({ accountId, fingerprint }: AskedImage, key: string) {
    const known = yield* takenKey(sql, { accountId, kind, key }, fingerprint)
    return known === null ? null : yield* Effect.orDie(ownImage(actors, accountId, known.targetId))
  })

  /** Counting and inserting are one step for the whole account. */
  const claim = Effect.fnUntraced(function* (asked: AskedImage, key: string, at: number) {
    const { accountId, requestId, fingerprint, request } = asked
    const secret = yield* credentialsIn(request)
    yield* requireQuota({ accountId, kind, key })
    const imageId = newId("img_")
    const credentials = envs.name(secret)
    const inserted = host.prepare(imageMachine, {
      id: imageId,
      accountId,
      sandboxId: imageId,
      input: { imageId, accountId, name: request.name, reference: request.reference, credentials, at },
      payload: null,
      cause: "client",
      requestId,
      idempotency: { kind, key, fingerprint }
    })
    yield* changeBegins
    const made = yield* insertActors(sql, [encodeInsert(inserted)], [requestId])
    if (made.size === 0) return null
    if (credentials !== null) yield* envs.keep(imageId, credentials, secret)
    return inserted
  })

  /** The image as it was accepted; of a repeated key, as it is now. */
  return Effect.fnUntraced(function* (asked: AskedImage) {
    const key = asked.idempotencyKey ?? `unnamed ${randomUUID()}`
    const replayed = yield* replay(asked, key)
    if (replayed !== null) return { status: replayed.status, context: replayed.context }
    const at = yield* Clock.currentTimeMillis
    const inserted = yield* Effect.uninterruptible(claimed(asked.accountId, claim(asked, key, at)))
    if (inserted === null) {
      const other = (yield* replay(asked, key))!
      return { status: other.status, context: other.context }
    }
    yield* host.adopt(inserted)
    const { value, context } = inserted.row.snapshot
    return { status: value, context: context as ImageContext }
  })
})
