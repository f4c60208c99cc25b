import { Effect } from "effect"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import type { Balance, Cost, CreditGrant, Usage, WalletTransaction } from "../../../schemas/Usage.ts"
import { type ListBinding, openCursor, pageOf } from "../../lists/Paging.ts"
import { type CostGroup, Costs } from "../../wallet/Costs.ts"
import type { Grant } from "../../wallet/Grant.ts"
import { Ledger } from "../../wallet/Ledger.ts"
import type { Reckoning } from "../../wallet/settleAccount.ts"
import { type Transaction, Transactions } from "../../wallet/Transactions.ts"
import { type UsageReport, UsageReports } from "../../wallet/UsageReports.ts"
import { leanGroup } from "./LeanContext.ts"

const iso = (ms: number) => new Date(ms).toISOString()
const isoOrNull = (ms: number | null) => (ms === null ? null : iso(ms))

/** The nearest double: one division of two exact numbers. */
const seconds = (ms: bigint | number) => Number(ms) / 1000
const mibSeconds = (byteMs: bigint) => Number(byteMs) / (1000 * 2 ** 20)

const usageOf = (report: UsageReport): Usage => ({
  from: iso(report.from),
  to: iso(report.to),
  asOf: iso(report.asOf),
  sandboxSeconds: seconds(report.sandboxMs),
  vcpuSeconds: Number(report.milliVcpuMs) / 1e6,
  memoryMibSeconds: mibSeconds(report.memoryByteMs),
  volumeMibSeconds: mibSeconds(report.volumeByteMs),
  snapshotMibSeconds: mibSeconds(report.snapshotByteMs),
  cpuSeconds: report.cpuUs === null ? null : Number(report.cpuUs) / 1e6,
  operations: report.operations,
  executes: report.executes
})

const grantOf = (grant: Grant): CreditGrant => ({
  id: grant.id,
  kind: grant.kind,
  grantedMicroUsd: Number(grant.grantedMicroUsd),
  remainingMicroUsd: Number(grant.remainingMicroUsd),
  expiredMicroUsd: Number(grant.expiredMicroUsd),
  effectiveAt: iso(grant.effectiveAt),
  expiresAt: isoOrNull(grant.expiresAt),
  status: grant.remainingMicroUsd > 0n ? "active" : grant.expiredMicroUsd > 0n ? "expired" : "used"
})

const balanceOf = (found: Reckoning & { readonly grants: ReadonlyArray<Grant> }): Balance => ({
  currency: "USD",
  microUsd: Number(found.balanceMicroUsd),
  status: found.status,
  asOf: iso(found.at),
  burnMicroUsdPerHour: Number(found.burnMicroUsdPerHour),
  exhaustsAt: isoOrNull(found.exhaustedAt),
  grants: found.grants.map(grantOf)
})

const transactionOf = (entry: Transaction): WalletTransaction => ({
  id: entry.id,
  at: iso(entry.at),
  postedAt: iso(entry.postedAt),
  kind: entry.kind,
  microUsd: Number(entry.microUsd),
  balanceMicroUsd: Number(entry.balanceMicroUsd),
  sandboxId: entry.sandboxId,
  snapshotId: entry.snapshotId,
  imageId: entry.imageId,
  period: entry.period === null ? null : { from: iso(entry.period.from), to: iso(entry.period.to) },
  description: entry.description,
  grants: entry.grants.map(({ grantId, microUsd }) => ({ grantId, microUsd: Number(microUsd) })),
  reversesId: entry.reversesId
})

const costOf = ({ key, name, microUsd, sandboxMs, components }: CostGroup): Cost => ({
  key,
  name,
  microUsd: Number(microUsd),
  sandboxSeconds: seconds(sandboxMs),
  components: {
    vcpuMicroUsd: Number(components.vcpu),
    memoryMicroUsd: Number(components.memory),
    volumeMicroUsd: Number(components.volume),
    snapshotMicroUsd: Number(components.snapshot)
  }
})

const position = /^\d{1,18}$/

const openPosition = (list: ListBinding, cursor: string | null) =>
  Effect.map(openCursor(list, cursor, position), (opened) => (opened === null ? null : BigInt(opened)))

export const UsageHandlers = {
  layer: leanGroup(
    Api,
    "usage",
    Effect.fnUntraced(function* (handlers) {
      const reports = yield* UsageReports
      const costs = yield* Costs
      const ledger = yield* Ledger
      const transactions = yield* Transactions
      return handlers
        .handle(
          "readUsage",
          Effect.fnUntraced(function* ({ query }) {
            const { accountId } = yield* Caller
            const report = yield* reports.read(accountId, { from: query.from ?? null, to: query.to ?? null })
            return { usage: usageOf(report) }
          })
        )
        .handle(
          "readBalance",
          Effect.fnUntraced(function* () {
            const { accountId } = yield* Caller
            return { balance: balanceOf(yield* ledger.balance(accountId)) }
          })
        )
        .handle(
          "listTransactions",
          Effect.fnUntraced(function* ({ query }) {
            const { accountId } = yield* Caller
            const list: ListBinding = [accountId, "transactions"]
            const before = yield* openPosition(list, query.cursor ?? null)
            const found = yield* transactions.list(accountId, { limit: query.limit + 1, before })
            const { entries, nextCursor } = pageOf(list, found, query.limit, ({ number }) => String(number))
            return { transactions: entries.map(transactionOf), nextCursor }
          })
        )
        .handle(
          "readCosts",
          Effect.fnUntraced(function* ({ query }) {
            const { accountId } = yield* Caller
            const report = yield* costs.read(accountId, {
              from: query.from ?? null,
              to: query.to ?? null,
              groupBy: query.groupBy,
              sandboxId: query.sandboxId ?? null
            })
            return {
              costs: report.costs.map(costOf),
              totalMicroUsd: Number(report.totalMicroUsd),
              burnMicroUsdPerHour: Number(report.burnMicroUsdPerHour),
              asOf: iso(report.asOf)
            }
          })
        )
    })
  )
}
