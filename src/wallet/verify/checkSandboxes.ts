/** The whole log of each Sandbox and each snapshot, worked out a second time, beside its meter and its segments. */

import { Effect, Option, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { eachBatch } from "../../store/eachBatch.ts"
import { isGone } from "../billedStates.ts"
import type { RateCard } from "../RateCard.ts"
import { checkSegments, readSegments } from "./checkSegments.ts"
import type { Differences } from "./Differences.ts"
import type { LogCost, LogLine } from "./LogCost.ts"
import { type ReadLog, readLogs } from "./readLogs.ts"
import { type SandboxRow, sandboxesStatement } from "./SandboxRow.ts"

const sandboxesAtOnce = 500

export interface SandboxCounts {
  transitions: number
  sandboxes: number
  snapshots: number
  /** Of those: their logs were deleted by retention, and only the books are left. */
  pruned: number
  /** Of those: a posting is pending. */
  unposted: number
  /** Micro-USD, up to each meter's instant. */
  cost: bigint
}

type Meter = NonNullable<SandboxRow["meter"]>

const floorOf = ({ vcpuSum, memorySum, volumeSum }: Meter) => ({
  vcpu: BigInt(vcpuSum) / 10n ** 9n,
  memory: BigInt(memorySum) / (10n ** 6n * 2n ** 30n),
  volume: BigInt(volumeSum) / (10n ** 6n * 2n ** 30n)
})

/** When metering began. */
const readMeteringStart = (sql: SqlClient.SqlClient) => {
  const findMigrated = SqlSchema.findOneOption({
    Request: Schema.Void,
    Result: Schema.Struct({ since: Schema.Finite }),
    execute: () => sql`
      select (extract(epoch from created_at) * 1000)::float8 as since from atoll_migrations where name = 'money'`
  })
  return Effect.map(findMigrated(), Option.match({ onNone: () => 0, onSome: ({ since }) => since }))
}

/** Compares what one Sandbox's log says of its meter. */
const compareMeter = (
  differences: Differences,
  { id, account_id }: SandboxRow,
  log: NonNullable<SandboxRow["log"]>,
  meter: Meter,
  cost: LogCost
) => {
  const compare = <A extends string | number | bigint | boolean | null>(what: string, expected: A, found: A) =>
    differences.compare(what, account_id, id, expected, found)
  compare("account of the meter", log.accountId, account_id)
  compare("workspace of the meter", log.workspaceId, meter.workspaceId)
  compare("Sandbox of the meter of a snapshot", log.snapshotOf, meter.snapshotOf)
  compare("vCPUs of the meter", cost.sizes.vcpus, Number(meter.milliVcpus) / 1000)
  compare("memory of the meter, in bytes", cost.sizes.memoryBytes, Number(meter.memoryBytes))
  compare("volume of the meter, in bytes", cost.sizes.volumeBytes, Number(meter.volumeBytes))
  compare("whether it runs", cost.runSince !== null, meter.isRunning)
  compare("since when it runs", cost.runSince, meter.runSince === null ? null : Number(meter.runSince))
  compare("whether its volume is there", cost.volumeSince !== null, meter.hasVolume)
  compare("when it was deleted", cost.deletedAt, meter.closedAt === null ? null : Number(meter.closedAt))
  compare("instant of its last transition", cost.changedAt, Number(meter.changedAt))
  const usage = cost.upTo(Number(meter.at))
  compare("vCPU sum of the meter", usage.sums.vcpu, BigInt(meter.vcpuSum))
  compare("memory sum of the meter", usage.sums.memory, BigInt(meter.memorySum))
  compare("volume sum of the meter", usage.sums.volume, BigInt(meter.volumeSum))
  return usage
}

/** @param accountId Null: of all accounts. */
export const checkSandboxes = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  accountId: string | null,
  cards: ReadonlyArray<RateCard>,
  differences: Differences
) {
  const since = yield* readMeteringStart(sql)
  const findSegments = readSegments(sql)
  const counts: SandboxCounts = { transitions: 0, sandboxes: 0, snapshots: 0, pruned: 0, unposted: 0, cost: 0n }

  /** It was deleted before metering existed. */
  const isOlder = (meter: SandboxRow["meter"], last: LogLine | null): boolean =>
    meter === null && last !== null && isGone(last.to) && last.at < since

  const checkPosting = (
    { id, account_id, meter }: SandboxRow,
    log: NonNullable<SandboxRow["log"]>,
    { isBehind, isWhole, last }: ReadLog
  ) => {
    if (!isWhole || last?.revision !== Number(log.revision)) {
      const found = `up to ${last?.revision ?? 0}, or some are missing`
      differences.add("transitions in its log", account_id, id, `1 to ${log.revision}, each`, found)
    }
    if (isBehind && log.isPosting) counts.unposted += 1
    if (isBehind && !log.isPosting && !isOlder(meter, last)) {
      const found = `up to revision ${meter?.revision ?? 0} of ${log.revision}, and nothing will post the rest`
      differences.add("posting", account_id, id, "posted, or about to be", found)
    }
  }

  const check = Effect.fnUntraced(function* (rows: ReadonlyArray<SandboxRow>) {
    const snapshots = rows.filter(({ log, meter }) => (log ?? meter)?.snapshotOf !== null).length
    counts.snapshots += snapshots
    counts.sandboxes += rows.length - snapshots
    const { logs, transitions } = yield* readLogs(sql, cards, rows)
    counts.transitions += transitions
    const segmentRows = yield* findSegments(rows.map(({ id }) => id))
    const segments = new Map(segmentRows.map((row) => [row.sandbox_id, row]))
    for (const row of rows) {
      const { id, account_id, log, meter } = row
      if (log === null) {
        counts.pruned += 1
        const isClosed = meter!.closedAt !== null
        differences.compare("whether the meter of a Sandbox that is gone was closed", account_id, id, true, isClosed)
        const microUsd = floorOf(meter!)
        counts.cost += microUsd.vcpu + microUsd.memory + microUsd.volume
        checkSegments(differences, row, segments.get(id), { microUsd, runningMs: null, volumeMs: null })
        continue
      }
      const known = logs.get(id)!
      checkPosting(row, log, known)
      if (meter === null) continue
      const usage = compareMeter(differences, row, log, meter, known.cost)
      counts.cost += usage.microUsd.vcpu + usage.microUsd.memory + usage.microUsd.volume
      checkSegments(differences, row, segments.get(id), usage)
    }
  })

  yield* eachBatch<SandboxRow, Effect.Error<ReturnType<typeof check>>>(
    sql,
    "sandboxes",
    sandboxesAtOnce,
    sandboxesStatement,
    [accountId],
    check
  )
  return counts
})
