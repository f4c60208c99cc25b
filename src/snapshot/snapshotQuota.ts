/**
 * What an account must have for one more snapshot: credit, and room below its limits. Checked in the transaction that inserts the snapshot, under the
 * lock of the account's row, as for a Sandbox. An image that is being made occupies nothing yet: the storage limit refuses only when it is reached.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound, StorageLimitReached } from "../../schemas/Errors.ts"
import { SnapshotLimitReached } from "../../schemas/SnapshotErrors.ts"
import { accountLimits, ownLimitsOf } from "../account/AccountLimits.ts"
import { KeyClaimed } from "../account/idempotency/claimKey.ts"
import { keyIsTaken, type TakenBy } from "../account/idempotency/IdempotencyKeys.ts"
import { lockedAccount, requireActive } from "../account/lockedAccount.ts"
import { Settings } from "../Config.ts"
import { snapshotBytes } from "../sandbox/sandboxQuota.ts"
import { countedStates } from "../sandbox/sandboxStates.ts"
import { textColumn } from "../store/Columns.ts"
import { volumeBytesOf } from "../store/SnapshotFields.ts"
import { countedSnapshotStates } from "./snapshotStates.ts"

interface Used {
  /** Snapshots of the account. */
  readonly count: number
  /** Of the workspace. */
  readonly bytes: bigint
  readonly key_taken: boolean
  readonly has_workspace: boolean
}

export const snapshotQuota = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings

  const readUsed = (workspaceId: string, key: TakenBy) =>
    Effect.map(
      sql<Used>`
        select (select count(*)::int4 from actors
                where account_id = ${key.accountId} and kind = 'snapshot' and ended_at is null
                  and status = any(${textColumn(countedSnapshotStates)}::text[])) as count,
               (select coalesce(sum(${sql.literal(volumeBytesOf("actors"))}), 0)::int8 from actors
                where account_id = ${key.accountId} and kind = 'sandbox' and workspace_id = ${workspaceId}
                  and sandbox_status = any(${textColumn(countedStates)}::text[]))
               + ${snapshotBytes(sql, key.accountId, workspaceId)} as bytes,
               ${keyIsTaken(sql, key)} as key_taken,
               exists (select 1 from workspaces where id = ${workspaceId} and account_id = ${key.accountId}) as has_workspace`,
      ([used]) => used!
    )

  /** Returns how many bytes the workspace's limit still allows. */
  return Effect.fnUntraced(function* (key: TakenBy, workspaceId: string) {
    const account = yield* lockedAccount(sql, key.accountId)
    const used = yield* readUsed(workspaceId, key)
    // The key may have been claimed while this request waited for the lock; a replay comes before every other answer.
    if (used.key_taken) return yield* new KeyClaimed()
    if (!used.has_workspace) return yield* new NotFound()
    yield* requireActive(account)
    const limit = settings.snapshotsPerAccount
    if (used.count >= limit) return yield* new SnapshotLimitReached({ details: { limit } })
    const { workspaceStorageBytes: limitBytes } = accountLimits(ownLimitsOf(account), settings)
    const leftBytes = limitBytes - Number(used.bytes)
    if (leftBytes <= 0) return yield* new StorageLimitReached({ details: { limitBytes } })
    return { limitBytes, leftBytes }
  })
})
