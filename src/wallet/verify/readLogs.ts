/** Works out the usage of Sandboxes and snapshots from their whole logs. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { textColumn } from "../../store/Columns.ts"
import { eachBatch } from "../../store/eachBatch.ts"
import type { RateCard } from "../RateCard.ts"
import { LogCost, type LogLine, type Sizes } from "./LogCost.ts"
import type { SandboxRow } from "./SandboxRow.ts"

const linesAtOnce = 5000

interface LineRow {
  readonly actor_id: string
  readonly revision: bigint
  readonly at: bigint
  readonly from_state: string | null
  readonly to_state: string
  readonly seen_at: string | null
  readonly profile: { readonly vcpus: number; readonly memoryBytes: number; readonly diskBytes: number } | null
  readonly stored_bytes: string | null
}

const sizesOf = ({ profile, stored_bytes }: LineRow): Sizes | null => {
  if (profile !== null) return { ...profile, volumeBytes: profile.diskBytes }
  if (stored_bytes === null) return null
  return { vcpus: 0, memoryBytes: 0, volumeBytes: Math.max(0, Math.floor(Number(stored_bytes))) }
}

const linesStatement = `
  select actor_id, revision, at, from_state, to_state,
         case when jsonb_typeof(event -> 'seenAt') = 'number' then event ->> 'seenAt' end as seen_at,
         event #> '{changes,profile}' as profile,
         case when jsonb_typeof(event -> 'storedBytes') = 'number' then event ->> 'storedBytes' end as stored_bytes
  from transitions where actor_id = any($1::text[]) order by actor_id, revision`

export interface ReadLog {
  readonly cost: LogCost
  /** The last revision that was posted. */
  readonly posted: number
  /** A cost has not been posted. */
  isBehind: boolean
  last: LogLine | null
  /** No revision is missing so far. */
  isWhole: boolean
}

/** The usage in all logs, up to each meter's instant. */
export const readLogs = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  cards: ReadonlyArray<RateCard>,
  rows: ReadonlyArray<SandboxRow>
) {
  const logs = new Map<string, ReadLog>()
  let transitions = 0
  for (const { id, log, meter } of rows) {
    if (log === null) continue
    const sizes = {
      vcpus: Number(log.vcpus),
      memoryBytes: Number(log.memoryBytes),
      volumeBytes: Number(log.volumeBytes)
    }
    const posted = Number(meter?.revision ?? 0)
    logs.set(id, {
      cost: new LogCost(sizes, cards, log.snapshotOf !== null),
      posted,
      isBehind: false,
      last: null,
      isWhole: true
    })
  }
  yield* eachBatch<LineRow, never>(sql, "lines", linesAtOnce, linesStatement, [textColumn([...logs.keys()])], (lines) =>
    Effect.sync(() => {
      transitions += lines.length
      for (const row of lines) {
        const known = logs.get(row.actor_id)!
        const line = {
          revision: Number(row.revision),
          at: Number(row.at),
          from: row.from_state,
          to: row.to_state,
          seenAt: row.seen_at === null ? null : Number(row.seen_at),
          sizes: sizesOf(row)
        }
        known.isWhole &&= line.revision === (known.last?.revision ?? 0) + 1
        known.last = line
        if (line.revision <= known.posted) known.cost.add(line)
        else known.isBehind ||= known.cost.isPriced(line)
      }
    })
  )
  return { logs, transitions }
})
