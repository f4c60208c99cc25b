/** Finds and prints accounts for the command line. */
import { Effect } from "effect"
import { Flag } from "effect/cli"
import { type AccountLimits, accountLimits, type OwnLimits } from "../account/AccountLimits.ts"
import { type Account, Accounts } from "../account/Accounts.ts"
import { Settings } from "../Config.ts"
import { Refused } from "./answer.ts"
import { shownTime, time } from "./table.ts"

/** For commands on an existing account. */
export const accountFlag = Flag.String("account").pipe(Flag.withDescription("The account's name or id"))

export const knownAccount = Effect.fnUntraced(function* (nameOrId: string) {
  const account = yield* (yield* Accounts).find(nameOrId)
  return (
    account ??
    (yield* new Refused({
      message: `There is no account named ${JSON.stringify(nameOrId)}. atoll accounts list shows them.`
    }))
  )
})

export interface AccountDocument {
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly billing: string
  readonly suspendedAt: string | null
  readonly createdAt: string
  /** The limits in force. */
  readonly limits: AccountLimits
  /** The account's own limits; null: the setting applies. */
  readonly ownLimits: OwnLimits
}

/** The output of `--json`. */
export const accountDocument = Effect.fnUntraced(function* (account: Account) {
  const document: AccountDocument = {
    id: account.id,
    name: account.name,
    email: account.email,
    billing: account.billing,
    suspendedAt: time(account.suspendedAt),
    createdAt: new Date(account.createdAt).toISOString(),
    limits: accountLimits(account.limits, yield* Settings),
    ownLimits: account.limits
  }
  return document
})

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
