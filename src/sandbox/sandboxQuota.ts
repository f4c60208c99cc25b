/**
 * What an account must have for one more Sandbox: the workspace, credit, and room below its limits.
 *
 * The transaction that inserts the Sandbox checks it, under the lock of the account's row. One process at a time has that lock, so the answer still
 * holds at the commit. What the request's API key said of credit and limits may be older.
 */
import { Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { NotFound, SandboxLimitReached, StorageLimitReached, UnsupportedByRuntime } from "../../schemas/Errors.ts"
import type { CreateSandboxRequest } from "../../schemas/Sandbox.ts"
import { accountLimits, ownLimitsOf } from "../account/AccountLimits.ts"
import { KeyClaimed } from "../account/idempotency/claimKey.ts"
import { keyIsTaken, type TakenBy } from "../account/idempotency/IdempotencyKeys.ts"
import { type LockedAccount, lockedAccount, requireActive } from "../account/lockedAccount.ts"
import { Settings } from "../Config.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { textColumn } from "../store/Columns.ts"
import { fieldOf, volumeBytesOf } from "../store/SnapshotFields.ts"
import { countedStates } from "./sandboxStates.ts"

/** What the host lacks is not for clients. */
const noNetwork =
  "Sandboxes of this server cannot have a network: its host lacks what they need (atoll doctor tells the operator). Send networkEnabled false."

interface Used {
  /** Sandboxes of the account. */
  readonly count: number
  /** Of the volumes in the workspace, and of its snapshots. */
  readonly bytes: bigint
  readonly key_taken: boolean
  readonly has_workspace: boolean
}

/** What the images of the workspace's snapshots occupy; those that are still being made occupy nothing yet. A part of a statement. */
export const snapshotBytes = (
  sql: SqlClient.SqlClient,
  accountId: string | Statement.Fragment,
  workspaceId: string | Statement.Fragment
) =>
  sql`(select coalesce(sum(${sql.literal(fieldOf("image", "storedBytes", "int8"))}), 0)::int8 from actors image
    where image.account_id = ${accountId} and image.kind = 'snapshot' and image.ended_at is null and image.workspace_id = ${workspaceId})`

export const sandboxQuota = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const runtime = yield* Runtime

  const readUsed = (workspaceId: string, key: TakenBy) =>
    Effect.map(
      sql<Used>`
        select count(*)::int4 as count,
               coalesce(sum(${sql.literal(volumeBytesOf("actors"))})
                 filter (where workspace_id = ${workspaceId}), 0)::int8
                 + ${snapshotBytes(sql, key.accountId, workspaceId)} as bytes,
               ${keyIsTaken(sql, key)} as key_taken,
               exists (select 1 from workspaces where id = ${workspaceId} and account_id = ${key.accountId}) as has_workspace
        from actors
        where account_id = ${key.accountId} and kind = 'sandbox' and sandbox_status = any(${textColumn(countedStates)}::text[])`,
      ([used]) => used!
    )

  const requireNetwork = (networkEnabled: boolean) =>
    networkEnabled && runtime.capabilities.networkRefused() !== null
      ? Effect.fail(new UnsupportedByRuntime({ message: noNetwork }))
      : Effect.void

  const requireRoom = Effect.fnUntraced(function* (account: LockedAccount, used: Used, diskBytes: number) {
    const limits = accountLimits(ownLimitsOf(account), settings)
    if (used.count >= limits.sandboxes) {
      return yield* new SandboxLimitReached({ details: { limit: limits.sandboxes } })
    }
    if (Number(used.bytes) + diskBytes > limits.workspaceStorageBytes) {
      return yield* new StorageLimitReached({ details: { limitBytes: limits.workspaceStorageBytes } })
    }
  })

  const requireQuota = Effect.fnUntraced(function* (
    key: TakenBy,
    { workspaceId, networkEnabled }: Pick<CreateSandboxRequest, "workspaceId" | "networkEnabled">,
    diskBytes: number
  ) {
    const { accountId } = key
    const account = yield* lockedAccount(sql, accountId)
    const used = yield* readUsed(workspaceId, key)
    // The key may have been claimed while this request waited for the lock; a replay comes before every other answer.
    if (used.key_taken) return yield* new KeyClaimed()
    if (!used.has_workspace) return yield* new NotFound()
    yield* requireActive(account)
    yield* requireNetwork(networkEnabled)
    yield* requireRoom(account, used, diskBytes)
  })
  return requireQuota
})
