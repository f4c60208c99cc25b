/**
 * What an account must have for one more image: credit, and room below its limits. Checked in the transaction that inserts the image, under the
 * lock of the account's row. An image that is being pulled occupies nothing yet: the storage limit refuses only when it is reached.
 *
 * An image belongs to no workspace, so all images of the account together are limited as the storage of one workspace is.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { StorageLimitReached } from "../../schemas/Errors.ts"
import { ImageLimitReached } from "../../schemas/ImageErrors.ts"
import { accountLimits, ownLimitsOf } from "../account/AccountLimits.ts"
import { KeyClaimed } from "../account/idempotency/claimKey.ts"
import { keyIsTaken, type TakenBy } from "../account/idempotency/IdempotencyKeys.ts"
import { lockedAccount, requireActive } from "../account/lockedAccount.ts"
import { Settings } from "../Config.ts"
import { textColumn } from "../store/Columns.ts"
import { fieldOf } from "../store/SnapshotFields.ts"
import { countedImageStates } from "./imageStates.ts"

interface Used {
  readonly count: number
  readonly bytes: bigint
  readonly key_taken: boolean
}

export const imageQuota = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings

  const readUsed = (key: TakenBy) =>
    Effect.map(
      sql<Used>`
        select count(*)::int4 as count, coalesce(sum(${sql.literal(fieldOf("actors", "storedBytes", "int8"))}), 0)::int8 as bytes,
               ${keyIsTaken(sql, key)} as key_taken
        from actors where account_id = ${key.accountId} and kind = 'image' and ended_at is null
          and status = any(${textColumn(countedImageStates)}::text[])`,
      ([used]) => used!
    )

  return Effect.fnUntraced(function* (key: TakenBy) {
    const account = yield* lockedAccount(sql, key.accountId)
    const used = yield* readUsed(key)
    // The key may have been claimed while this request waited for the lock; a replay comes before every other answer.
    if (used.key_taken) return yield* new KeyClaimed()
    yield* requireActive(account)
    const limit = settings.imagesPerAccount
    if (used.count >= limit) return yield* new ImageLimitReached({ details: { limit } })
    const { workspaceStorageBytes: limitBytes } = accountLimits(ownLimitsOf(account), settings)
    if (Number(used.bytes) >= limitBytes) return yield* new StorageLimitReached({ details: { limitBytes } })
  })
})
