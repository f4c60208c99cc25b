/**
 * Costs of an account's Sandboxes, each with those of its snapshots, within a window, by Sandbox, UTC day or workspace. Every grouping adds up to the same total. Over the whole
 * life of an account, the total is all usage (less reversals) in the ledger plus the usage not posted yet.
 *
 * @source contract-details.md "Usage and credit"
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { InvalidRequest } from "../../schemas/Errors.ts"
import { costGroupsMax } from "../../schemas/Limits.ts"
import type { costGroupings } from "../../schemas/Usage.ts"
import { Int8 } from "../store/Columns.ts"
import { type Amounts, common, divisors, storageRateOf } from "./Cost.ts"
import { dayMs } from "./Fold.ts"
import { ReportRequest, SandboxReportRequest, withPieces, withPiecesOfSandbox } from "./Pieces.ts"
import { reportWindow } from "./ReportWindow.ts"

export type CostGrouping = (typeof costGroupings)[number]

export interface CostQuery {
  /** Epoch milliseconds. */
  readonly from: number | null
  readonly to: number | null
  readonly groupBy: CostGrouping
  /** Null: the whole account. */
  readonly sandboxId: string | null
}

export interface CostGroup {
  /** A Sandbox's id, a workspace's, or a day as `2026-11-22`. */
  readonly key: string
  /** Null for days, for no workspace, and for a name that is not stored any more. */
  readonly name: string | null
  readonly microUsd: bigint
  /** Time in `running`. */
  readonly sandboxMs: number
  readonly components: Amounts & { readonly snapshot: bigint }
}

export interface CostReport {
  /** The most expensive first; days in their order. */
  readonly costs: ReadonlyArray<CostGroup>
  readonly totalMicroUsd: bigint
  /** Micro-USD in an hour at the present rates, rounded down. */
  readonly burnMicroUsdPerHour: bigint
  /** Epoch milliseconds: costs count up to here. */
  readonly asOf: number
}

/** Without costs there is one row, with only the instant. */
const Row = Schema.Union([
  Schema.Struct({ as_of: Int8, burn: Schema.BigInt, key: Schema.Null }),
  Schema.Struct({
    as_of: Int8,
    burn: Schema.BigInt,
    /** For a day: its number since 1970. */
    key: Schema.String,
    name: Schema.NullOr(Schema.String),
    running_ms: Int8,
    vcpu: Schema.BigInt,
    memory: Schema.BigInt,
    volume: Schema.BigInt,
    snapshot: Schema.BigInt
  })
])

const groupings: Readonly<Record<CostGrouping, { key: string; name: string; order: string }>> = {
  sandbox: {
    key: "sandbox_id",
    name: "(select m.name from meters m where m.sandbox_id = l.key)",
    order: "l.vcpu + l.memory + l.volume + l.snapshot desc, l.key"
  },
  workspace: {
    key: "workspace_id",
    name: "(select w.name from workspaces w where w.id = l.key and w.account_id = $1)",
    order: "l.vcpu + l.memory + l.volume + l.snapshot desc, l.key"
  },
  day: {
    key: `from_at / ${dayMs}`,
    name: "null::text",
    order: "l.key"
  }
}

const hourMs = 60 * 60 * 1000

/** A group whose usage was reversed completely is left out. */
const statement = (pieces: string, { key, name, order }: (typeof groupings)[CostGrouping]) => `
  ${pieces}, burning as (
    select coalesce(div(sum(
      case when o.is_running then ${common / divisors.vcpu}::numeric * o.milli_vcpus * c.vcpu_second_nano_usd
                                  + ${common / divisors.memory} * o.memory_bytes * c.memory_gib_second_nano_usd::numeric else 0 end
      + ${common / divisors.volume} * o.volume_bytes * ${storageRateOf("o", "c")}) * ${hourMs}, ${common}), 0)::int8 as burn
    from open o cross join (
      select * from rate_cards where effective_at <= (select at from instant) order by effective_at desc limit 1) c
  ), groups as (
    select ${key} as key, sum(vcpu_micro_usd)::int8 as vcpu, sum(memory_micro_usd)::int8 as memory,
           coalesce(sum(volume_micro_usd) filter (where not is_snapshot), 0)::int8 as volume,
           coalesce(sum(volume_micro_usd) filter (where is_snapshot), 0)::int8 as snapshot,
           coalesce(sum(ms) filter (where is_running), 0)::int8 as running_ms
    from piece group by 1 having sum(ms) <> 0
  ), listed as (
    select *, ${name} as name from groups l order by ${order} limit ${costGroupsMax + 1}
  )
  select least(i.at, $3::int8) as as_of, b.burn, l.key::text, l.name, l.running_ms, l.vcpu, l.memory, l.volume, l.snapshot
  from instant i cross join burning b left join listed l on true order by ${order}`

const statements = (pieces: string) => ({
  sandbox: statement(pieces, groupings.sandbox),
  workspace: statement(pieces, groupings.workspace),
  day: statement(pieces, groupings.day)
})

const ofAccount = statements(withPieces)
const ofSandbox = statements(withPiecesOfSandbox)

const dayOf = (day: number) => new Date(day * dayMs).toISOString().slice(0, 10)

const tooMany = (groupBy: CostGrouping) =>
  new InvalidRequest({
    details: {
      issues: [
        {
          path: ["groupBy"],
          message: `More than ${costGroupsMax} groups (${groupBy}) have a cost in this window: ask for a shorter window, or group by day`
        }
      ]
    }
  })

export class Costs extends Context.Service<
  Costs,
  {
    readonly read: (accountId: string, query: CostQuery) => Effect.Effect<CostReport, InvalidRequest>
  }
>()("atoll/wallet/Costs") {
  static readonly layer = Layer.effect(
    Costs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const find = (groupBy: CostGrouping) =>
        SqlSchema.findNonEmpty({
          Request: ReportRequest,
          Result: Row,
          execute: (request) => sql.unsafe(ofAccount[groupBy], request)
        })
      const findOfSandbox = (groupBy: CostGrouping) =>
        SqlSchema.findNonEmpty({
          Request: SandboxReportRequest,
          Result: Row,
          execute: (request) => sql.unsafe(ofSandbox[groupBy], request)
        })
      return {
        read: Effect.fn("Costs.read")(function* (accountId, query) {
          const now = yield* Clock.currentTimeMillis
          const { from, to } = yield* reportWindow(query, now)
          const rows = yield* Effect.orDie(
            query.sandboxId === null
              ? find(query.groupBy)([accountId, from, to, now])
              : findOfSandbox(query.groupBy)([accountId, from, to, now, query.sandboxId])
          )
          const groups = rows.filter((row) => row.key !== null)
          if (groups.length > costGroupsMax) return yield* tooMany(query.groupBy)
          const costs = groups.map(
            ({ key, name, running_ms, vcpu, memory, volume, snapshot }): CostGroup => ({
              key: query.groupBy === "day" ? dayOf(Number(key)) : key,
              name,
              microUsd: vcpu + memory + volume + snapshot,
              sandboxMs: running_ms,
              components: { vcpu, memory, volume, snapshot }
            })
          )
          return {
            costs,
            totalMicroUsd: costs.reduce((sum, { microUsd }) => sum + microUsd, 0n),
            burnMicroUsdPerHour: rows[0].burn,
            asOf: rows[0].as_of
          }
        })
      }
    })
  )
}
