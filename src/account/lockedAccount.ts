/** An account while something is added to it: the lock of its row lasts until the transaction ends, so what is counted still holds at the commit. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { AccountSuspended, type CreditExhausted } from "../../schemas/Errors.ts"
import type { LimitsRow } from "./AccountLimits.ts"
import { requireCredit } from "./Credit.ts"

export interface LockedAccount extends LimitsRow {
  readonly is_suspended: boolean
  readonly exhausted_at: bigint | null
}

/** Waits for the lock. */
export const lockedAccount = (sql: SqlClient.SqlClient, accountId: string) =>
  Effect.map(
    sql<LockedAccount>`
      select suspended_at is not null as is_suspended, exhausted_at, sandboxes_limit, workspaces_limit, workspace_storage_bytes_limit
      from accounts where id = ${accountId} for no key update`,
    ([account]) => account!
  )

/** It is neither suspended nor without credit. */
export const requireActive = ({
  is_suspended,
  exhausted_at
}: LockedAccount): Effect.Effect<void, AccountSuspended | CreditExhausted> =>
  is_suspended
    ? Effect.fail(new AccountSuspended())
    : requireCredit(exhausted_at === null ? null : Number(exhausted_at))
