/**
 * What an account must have for one more Sandbox: the workspace, credit, and room below its limits.
 *
 * The transaction that inserts the Sandbox checks it, under the lock of the account's row. One process at a time has that lock, so the answer still
 * holds at the commit. What the request's API key said of credit and limits may be older.
 */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import {
  AccountSuspended,
  NotFound,
  SandboxLimitReached,
  StorageLimitReached,
  UnsupportedByRuntime
} from "../../schemas/Errors.ts"
import type { CreateSandboxRequest } from "../../schemas/Sandbox.ts"
import { accountLimits, type LimitsRow, ownLimitsOf } from "../account/AccountLimits.ts"
import { requireCredit } from "../account/Credit.ts"
import { keyIsTaken, type TakenBy } from "../account/idempotency/IdempotencyKeys.ts"
import { Settings } from "../Config.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { textColumn } from "../store/Columns.ts"
import { volumeBytesOf } from "../store/SnapshotFields.ts"
import { countedStates } from "./sandboxStates.ts"

/** What the host lacks is not for clients. */
const noNetwork =
  "Sandboxes of this server cannot have a network: its host lacks what they need (atoll doctor tells the operator). Send networkEnabled false."

interface AccountRow extends LimitsRow {
  readonly is_suspended: boolean
  readonly exhausted_at: bigint | null
}

interface Used {
  /** Sandboxes of the account. */
  readonly count: number
  /** Of the volumes in the workspace. */
  readonly bytes: bigint
  readonly key_taken: boolean
  readonly has_workspace: boolean
}

/** Another request claimed the key between this request's look and its insert. */
export class KeyClaimed extends Schema.TaggedError<KeyClaimed>()("KeyClaimed", {}) {}

export const sandboxQuota = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const runtime = yield* Runtime

  const readUsed = (workspaceId: string, key: TakenBy) =>
    Effect.map(
      sql<Used>`
        select count(*)::int4 as count,
               coalesce(sum(${sql.literal(volumeBytesOf("actors"))})
                 filter (where workspace_id = ${workspaceId}), 0)::int8 as bytes,
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

  const requireRoom = Effect.fnUntraced(function* (account: AccountRow, used: Used, diskBytes: number) {
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
    const [account] = yield* sql<AccountRow>`
      select suspended_at is not null as is_suspended, exhausted_at, sandboxes_limit, workspaces_limit, workspace_storage_bytes_limit
      from accounts where id = ${accountId} for no key update`
    const used = yield* readUsed(workspaceId, key)
    // The key may have been claimed while this request waited for the lock; a replay comes before every other answer.
    if (used.key_taken) return yield* new KeyClaimed()
    if (!used.has_workspace) return yield* new NotFound()
    if (account!.is_suspended) return yield* new AccountSuspended()
    yield* requireCredit(account!.exhausted_at === null ? null : Number(account!.exhausted_at))
    yield* requireNetwork(networkEnabled)
    yield* requireRoom(account!, used, diskBytes)
  })
  return requireQuota
})
