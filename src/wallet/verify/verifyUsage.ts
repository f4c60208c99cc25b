/**
 * Recomputes the cost of every Sandbox and every snapshot from its log, and the payments, and compares them with the books: meters, segments,
 * entries, allocations, grants and wallets. It changes nothing, and shares no code with the postings.
 *
 * It reads one snapshot, so concurrent postings do not matter. A pending posting is no difference; an unposted cost without a pending posting is.
 * For a Sandbox that retention deleted only the books are left: they must be consistent.
 *
 * @source contract-details.md "The operator's command line"
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { readCards } from "../LedgerReads.ts"
import { checkAccounts } from "./checkAccounts.ts"
import { checkPostings } from "./checkPostings.ts"
import { checkSandboxes } from "./checkSandboxes.ts"
import { type Difference, Differences } from "./Differences.ts"

export const differencesShown = 100

export interface Verification {
  readonly transitions: number
  readonly sandboxes: number
  readonly snapshots: number
  /** Of Sandboxes and snapshots: deleted by retention, with their logs. */
  readonly prunedSandboxes: number
  /** Of Sandboxes and snapshots: the last log entries are about to be posted. */
  readonly unpostedSandboxes: number
  readonly accounts: number
  readonly grants: number
  readonly entries: number
  /** The cost of all of them, by their logs, up to each meter's instant. */
  readonly costMicroUsd: bigint
  /** At most `differencesShown`. */
  readonly differences: ReadonlyArray<Difference>
  readonly differencesCount: number
}

/** Compares within the caller's transaction. */
export const compareBooks = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, accountId: string | null) {
  const differences = new Differences(differencesShown)
  const sandboxes = yield* checkSandboxes(sql, accountId, yield* readCards(sql), differences)
  yield* checkPostings(sql, accountId, differences)
  const accounts = yield* checkAccounts(sql, accountId, differences)
  if (sandboxes.cost !== accounts.used) {
    differences.add(
      "what all Sandboxes and snapshots cost, in micro-USD",
      accountId,
      null,
      sandboxes.cost,
      accounts.used
    )
  }
  const verification: Verification = {
    transitions: sandboxes.transitions,
    sandboxes: sandboxes.sandboxes,
    snapshots: sandboxes.snapshots,
    prunedSandboxes: sandboxes.pruned,
    unpostedSandboxes: sandboxes.unposted,
    accounts: accounts.accounts,
    grants: accounts.grants,
    entries: accounts.entries,
    costMicroUsd: sandboxes.cost,
    differences: differences.kept,
    differencesCount: differences.count
  }
  return verification
})

/**
 * @param sql Connections for statements that may take long.
 * @param accountId Null: all accounts.
 */
export const verifyUsage = (sql: SqlClient.SqlClient, accountId: string | null) =>
  Effect.andThen(sql`set transaction isolation level repeatable read, read only`, compareBooks(sql, accountId)).pipe(
    sql.withTransaction
  )
