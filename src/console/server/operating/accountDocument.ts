/** An account as the operator sees it. */
import { Effect } from "effect"
import { type AccountLimits, accountLimits, type OwnLimits } from "../../../account/AccountLimits.ts"
import type { Account, Billing } from "../../../account/Accounts.ts"
import { Settings } from "../../../Config.ts"
import { time } from "./times.ts"

export interface AccountDocument {
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly billing: Billing
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
