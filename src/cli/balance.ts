/** An account's money in the form of the command line. */
import { type Grant, grantStatus } from "../wallet/Grant.ts"
import { formatUsd } from "../wallet/Money.ts"
import type { Reckoning } from "../wallet/settleAccount.ts"
import { list, shownTime, table, time } from "./table.ts"

export type Balance = Reckoning & { readonly grants: ReadonlyArray<Grant> }

const dollars = (microUsd: bigint): string => `${formatUsd(microUsd)} USD`

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

/** Rows of a name and a value. */
export const balanceRows = (balance: Balance): ReadonlyArray<readonly [string, string]> => [
  ["balance", `${dollars(balance.balanceMicroUsd)}, ${balance.status}`],
  ["cost now", `${dollars(balance.burnMicroUsdPerHour)} an hour`],
  ["exhausted at", shownTime(balance.exhaustedAt)]
]

export const balanceProse = (balance: Balance): string =>
  [
    list(balanceRows(balance)),
    table(
      ["GRANT", "KIND", "GRANTED", "LEFT", "EXPIRED", "EFFECTIVE", "EXPIRES", "STATUS", "DESCRIPTION"],
      balance.grants.map((grant) => [
        grant.id,
        grant.kind,
        formatUsd(grant.grantedMicroUsd),
        formatUsd(grant.remainingMicroUsd),
        formatUsd(grant.expiredMicroUsd),
        shownTime(grant.effectiveAt),
        shownTime(grant.expiresAt),
        grantStatus(grant),
        grant.description
      ])
    )
  ].join("\n\n")
