/**
 * Works out anew what every Sandbox has cost, by its log, and what paid for it, and compares with what stands in the books: meters, segments,
 * entries, allocations, grants and wallets. Nothing is changed, and nothing is taken from the code that posts.
 *
 * All of it is of one instant, so a service that posts meanwhile does not matter; what it has yet to post is no difference, and what nobody would
 * ever post is one. Of a Sandbox that was forgotten only its books are left: they have to agree among themselves.
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
  /** Of those: forgotten, with their logs. */
  readonly prunedSandboxes: number
  /** Of those: what their logs say last is being posted. */
  readonly unpostedSandboxes: number
  readonly accounts: number
  readonly grants: number
  readonly entries: number
  /** What all of them have cost, by their logs, up to what was posted. */
  readonly costMicroUsd: bigint
  /** `differencesShown` at most. */
  readonly differences: ReadonlyArray<Difference>
  readonly differencesCount: number
}

/** As things stand in the transaction. */
export const compareBooks = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, accountId: string | null) {
  const differences = new Differences(differencesShown)
  const sandboxes = yield* checkSandboxes(sql, accountId, yield* readCards(sql), differences)
  yield* checkPostings(sql, accountId, differences)
  const accounts = yield* checkAccounts(sql, accountId, differences)
  if (sandboxes.cost !== accounts.used) {
    differences.add("what all Sandboxes cost, in micro-USD", accountId, null, sandboxes.cost, accounts.used)
  }
  const verification: Verification = {
    transitions: sandboxes.transitions,
    sandboxes: sandboxes.sandboxes,
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
 * @param sql Of connections whose statements may take long.
 * @param accountId Null: all accounts.
 */
export const verifyUsage = (sql: SqlClient.SqlClient, accountId: string | null) =>
  Effect.andThen(sql`set transaction isolation level repeatable read, read only`, compareBooks(sql, accountId)).pipe(
    sql.withTransaction
  )
