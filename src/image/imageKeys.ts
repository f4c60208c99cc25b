/** The Idempotency-Keys of the requests that make an image. */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { claimKey } from "../account/idempotency/claimKey.ts"
import { takenKey } from "../account/idempotency/IdempotencyKeys.ts"
import { ownImage } from "../sandbox/sandboxImage.ts"
import { Actors } from "../store/Actors.ts"
import { imageQuota } from "./imageQuota.ts"

/** The key of a request. Another request has none like it where it names none. */
export const keyOf = ({ idempotencyKey }: { readonly idempotencyKey: string | null }): string =>
  idempotencyKey ?? `unnamed ${randomUUID()}`

/** @param kind Of the requests whose keys these are. */
export const imageKeys = Effect.fnUntraced(function* (kind: string) {
  const actors = yield* Actors
  const sql = yield* SqlClient.SqlClient
  const claimed = yield* claimKey
  const requireQuota = yield* imageQuota

  return {
    /** The key's image as it is now; null: no request has taken the key. */
    replay: Effect.fnUntraced(function* (accountId: string, key: string, fingerprint: string) {
      const known = yield* takenKey(sql, { accountId, kind, key }, fingerprint)
      if (known === null) return null
      const { status, context } = yield* Effect.orDie(ownImage(actors, accountId, known.targetId))
      return { status, context }
    }),
    /** Whether the account may have one more image, before anything is made for it. False: another request has taken the key. */
    isFree: (accountId: string, key: string) =>
      Effect.map(
        claimed(accountId, Effect.as(requireQuota({ accountId, kind, key }), true)),
        (allowed) => allowed !== null
      )
  }
})
