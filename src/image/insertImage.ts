/**
 * The transaction that inserts an image: counting and inserting are one step for the whole account. An image whose build was given up meanwhile is
 * refused, because the Sandbox of that build is deleted.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type ImageInput, imageMachine } from "../../machines/image.ts"
import { SandboxUnavailable } from "../../schemas/Errors.ts"
import { claimKey } from "../account/idempotency/claimKey.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { BuildLeases } from "../sandbox/BuildLeases.ts"
import { SandboxEnvs } from "../sandbox/SandboxEnvs.ts"
import { changeBegins } from "../store/Change.ts"
import { encodeInsert } from "../store/JournalEncoding.ts"
import { insertActors } from "../store/JournalStatements.ts"
import { imageQuota } from "./imageQuota.ts"

export const insertImage = Effect.gen(function* () {
  const host = yield* ActorHost
  const sql = yield* SqlClient.SqlClient
  const claimed = yield* claimKey
  const requireQuota = yield* imageQuota
  const envs = yield* SandboxEnvs
  const leases = yield* BuildLeases

  const insert = Effect.fnUntraced(function* (
    { requestId }: { readonly requestId: string },
    idempotency: { readonly kind: string; readonly key: string; readonly fingerprint: string },
    input: ImageInput,
    secret: Readonly<Record<string, string>> = {}
  ) {
    const { accountId, imageId } = input
    yield* requireQuota({ accountId, ...idempotency })
    const inserted = host.prepare(imageMachine, {
      ...{ id: imageId, accountId, sandboxId: imageId, input, payload: null, cause: "client", requestId },
      idempotency
    })
    yield* changeBegins
    const made = yield* insertActors(sql, [encodeInsert(inserted)], [requestId])
    if (made.size === 0) return null
    const { build = null } = input
    if (build !== null && !(yield* leases.settle(build.sandboxId)))
      return yield* new SandboxUnavailable({ details: { status: null } })
    if (input.credentials !== null) yield* envs.keep(imageId, input.credentials, secret)
    return inserted
  })

  /** Null: another request has taken the key. */
  return (...wanted: Parameters<typeof insert>) => claimed(wanted[2].accountId, insert(...wanted))
})
