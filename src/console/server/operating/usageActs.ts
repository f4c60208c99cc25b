/** The check of the books: for the command line and for the operator's page, in the same words. */
import { Effect } from "effect"
import { MaintenanceDatabase } from "../../../store/Database.ts"
import { formatUsd } from "../../../wallet/Money.ts"
import { type Verification, verifyUsage } from "../../../wallet/verify/verifyUsage.ts"
import { knownAccount } from "./accountActs.ts"

export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

const summaryOf = (found: Verification): string =>
  [
    `${counted(found.transitions, "transition")} of ${counted(found.sandboxes, "Sandbox", "Sandboxes")} and ${counted(found.snapshots, "snapshot")}`,
    ...(found.prunedSandboxes > 0
      ? [`(the logs of ${found.prunedSandboxes} were deleted by retention: only their books were checked)`]
      : []),
    `cost ${formatUsd(found.costMicroUsd)} USD.`,
    `${counted(found.accounts, "account")}, ${counted(found.grants, "grant")}, ${counted(found.entries, "entry", "entries")}.`,
    ...(found.unpostedSandboxes > 0
      ? [`${counted(found.unpostedSandboxes, "log")} with usage that is about to be posted.`]
      : []),
    ...(found.differencesCount === 0 ? ["Everything agrees."] : [])
  ].join(" ")

/** Why the books are wrong, in one sentence; null: they are right. */
export const faultOf = ({ differencesCount }: Verification): string | null =>
  differencesCount === 0 ? null : `The books differ from the log, in ${counted(differencesCount, "place")}.`

/** @param nameOrId Null: all accounts. */
export const verifyBooks = Effect.fn("operating.verifyBooks")(function* (nameOrId: string | null) {
  const account = nameOrId === null ? null : yield* knownAccount(nameOrId)
  const found = yield* verifyUsage(yield* MaintenanceDatabase, account?.id ?? null)
  return { found, summary: summaryOf(found) }
})
