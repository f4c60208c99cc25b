/** Prints accounts on the command line. */
import { Flag } from "effect/cli"
import type { AccountLimits, OwnLimits } from "../account/AccountLimits.ts"
import type { Account } from "../account/Accounts.ts"
import type { AccountDocument } from "../console/server/operating/accountDocument.ts"
import { shownTime } from "../console/server/operating/times.ts"

/** For commands on an existing account. */
export const accountFlag = Flag.String("account").pipe(Flag.withDescription("The account's name or id"))

const limit = (limits: AccountLimits, own: OwnLimits, name: keyof AccountLimits, unit = ""): string =>
  `at most ${limits[name]}${unit}${own[name] === null ? " (the setting)" : ""}`

/** Rows of a name and a value. */
export const limitRows = ({ limits, ownLimits }: AccountDocument): ReadonlyArray<readonly [string, string]> => [
  ["workspaces", limit(limits, ownLimits, "workspaces")],
  ["Sandboxes", limit(limits, ownLimits, "sandboxes")],
  ["storage of a workspace", limit(limits, ownLimits, "workspaceStorageBytes", " bytes")]
]

export const accountRows = (account: Account): ReadonlyArray<readonly [string, string]> => [
  ["id", account.id],
  ["name", account.name],
  ["e-mail", account.email ?? "-"],
  ["billing", account.billing],
  ["created", shownTime(account.createdAt)],
  ["suspended", account.suspendedAt === null ? "no" : `since ${shownTime(account.suspendedAt)}`]
]
