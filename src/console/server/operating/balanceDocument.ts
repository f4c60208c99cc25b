/** An account's money as JSON. */
import { type Grant, grantStatus } from "../../../wallet/Grant.ts"
import type { Reckoning } from "../../../wallet/settleAccount.ts"
import { time } from "./times.ts"

export type Balance = Reckoning & { readonly grants: ReadonlyArray<Grant> }

/** The output of `--json`: amounts are below 2^53 (Money.ts). */
export const grantDocument = (grant: Grant) => ({
  id: grant.id,
  kind: grant.kind,
  grantedMicroUsd: Number(grant.grantedMicroUsd),
  remainingMicroUsd: Number(grant.remainingMicroUsd),
  expiredMicroUsd: Number(grant.expiredMicroUsd),
  effectiveAt: time(grant.effectiveAt),
  expiresAt: time(grant.expiresAt),
  status: grantStatus(grant),
  description: grant.description
})

/** The fields of GET /usage/balance. */
export const balanceDocument = (balance: Balance) => ({
  currency: "USD",
  microUsd: Number(balance.balanceMicroUsd),
  status: balance.status,
  asOf: time(balance.at),
  burnMicroUsdPerHour: Number(balance.burnMicroUsdPerHour),
  exhaustsAt: time(balance.exhaustedAt),
  grants: balance.grants.map(grantDocument)
})
