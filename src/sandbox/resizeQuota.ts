/**
 * Room for other sizes of a Sandbox: below the limit of its workspace's storage, and on its host.
 *
 * The transaction holds the lock of the account's row until the change is committed, as a create does until its Sandbox is inserted.
 */
import { Effect, Schema } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import type { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import { SandboxLimitReached, StorageLimitReached } from "../../schemas/Errors.ts"
import type { SandboxProfile } from "../../schemas/SandboxProfile.ts"
import { accountLimits, type LimitsRow, ownLimitsOf } from "../account/AccountLimits.ts"
import { Settings } from "../Config.ts"
import { lockByKey } from "../platform/concurrency/lockByKey.ts"
import { textColumn } from "../store/Columns.ts"
import { volumeBytesOf } from "../store/SnapshotFields.ts"
import { Placement } from "./Placement.ts"
import { snapshotBytes } from "./sandboxQuota.ts"
import { countedStates } from "./sandboxStates.ts"

const isSqlError = (error: unknown): error is SqlError.SqlError => error instanceof SqlError.SqlError

/** Rolls back: another change came first. */
class NotChanged extends Schema.TaggedError<NotChanged>()("NotChanged", {}) {}

const noRoom = () =>
  new SandboxLimitReached({
    message: "The host of this Sandbox has no room for these sizes now. Ask for less, or stop or delete another one.",
    details: { limit: null }
  })

export const resizeQuota = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const placement = yield* Placement
  const withAccountLock = yield* lockByKey

  const requireStorage = Effect.fnUntraced(function* (context: SandboxContext, { diskBytes }: SandboxProfile) {
    const { accountId, workspaceId, sandboxId } = context
    const [account] = yield* sql<LimitsRow>`
      select sandboxes_limit, workspaces_limit, workspace_storage_bytes_limit from accounts where id = ${accountId} for no key update`
    if (diskBytes <= context.profile.diskBytes) return
    const [others] = yield* sql<{ readonly bytes: bigint }>`
      select coalesce(sum(${sql.literal(volumeBytesOf("actors"))}), 0)::int8
        + ${snapshotBytes(sql, accountId, workspaceId)} as bytes from actors
      where account_id = ${accountId} and kind = 'sandbox' and sandbox_status = any(${textColumn(countedStates)}::text[])
        and workspace_id = ${workspaceId} and id <> ${sandboxId}`
    const { workspaceStorageBytes: limitBytes } = accountLimits(ownLimitsOf(account!), settings)
    if (Number(others!.bytes) + diskBytes > limitBytes)
      return yield* new StorageLimitReached({ details: { limitBytes } })
  })

  /** Makes the change if there is room for it. The reservation on the host is undone if the change fails, or is not made (null). */
  return <A, E>(context: SandboxContext, profile: SandboxProfile, change: Effect.Effect<A | null, E>) =>
    sql
      .withTransaction(
        Effect.gen(function* () {
          yield* requireStorage(context, profile)
          if (!(yield* placement.resize(context.sandboxId, profile))) return yield* noRoom()
          return (yield* change) ?? (yield* new NotChanged())
        })
      )
      .pipe(
        Effect.catchIf(
          (error): error is NotChanged => error instanceof NotChanged,
          () => Effect.succeed(null)
        ),
        withAccountLock(context.accountId),
        Effect.catchIf(isSqlError, Effect.die),
        Effect.uninterruptible
      )
})
