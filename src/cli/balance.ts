/** An account's money in the form of the command line. */
import type { Balance } from "../console/server/operating/balanceDocument.ts"
import { shownTime } from "../console/server/operating/times.ts"
import { grantStatus } from "../wallet/Grant.ts"
import { formatUsd } from "../wallet/Money.ts"
import { list, table } from "./table.ts"

const dollars = (microUsd: bigint): string => `${formatUsd(microUsd)} USD`

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
