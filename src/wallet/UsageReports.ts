/**
 * The usage of an account within a window: allocated time and sizes from its meters, measured CPU time, and the number of operations and
 * executes that began.
 *
 * Counts are exact while their rows are stored. For rows that retention deleted there is a count for each UTC hour, which belongs to the
 * window that contains the start of that hour: so adjacent windows always add up.
 *
 * @source contract-details.md "Usage and credit"
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { InvalidRequest } from "../../schemas/Errors.ts"
import { Int8 } from "../store/Columns.ts"
import { ExecutionLog } from "../store/ExecutionLog.ts"
import { ReportRequest, withPieces } from "./Pieces.ts"
import { reportWindow } from "./ReportWindow.ts"

export interface UsageQuery {
  /** Epoch milliseconds. */
  readonly from: number | null
  readonly to: number | null
}

export interface UsageReport {
  /** Epoch milliseconds. */
  readonly from: number
  readonly to: number
  /** Usage is counted up to here. */
  readonly asOf: number
  /** Time in `running`. */
  readonly sandboxMs: bigint
  /** The same, times the allocated milli-vCPUs or bytes of memory. */
  readonly milliVcpuMs: bigint
  readonly memoryByteMs: bigint
  /** From the first boot to deletion. */
  readonly volumeByteMs: bigint
  /** What snapshots stored, from when they were ready to their deletion. */
  readonly snapshotByteMs: bigint
  /** Null: no measurement. */
  readonly cpuUs: bigint | null
  readonly operations: number
  readonly executes: number
}

const Row = Schema.Struct({
  as_of: Int8,
  sandbox_ms: Schema.BigIntFromString,
  milli_vcpu_ms: Schema.BigIntFromString,
  memory_byte_ms: Schema.BigIntFromString,
  volume_byte_ms: Schema.BigIntFromString,
  snapshot_byte_ms: Schema.BigIntFromString,
  cpu_us: Schema.BigIntFromString,
  cpu_samples: Int8,
  operations: Int8,
  executes: Int8
})

const hourMs = 60 * 60 * 1000

/** Samples from an instant to the end of its hour: none at the start of an hour. */
const restOfHour = (at: string) => `
  select coalesce(sum(cpu_growth_us), 0) as us, count(cpu_growth_us) as samples from telemetry_samples
  where account_id = $1 and at >= ${at}::int8 and at < (${at}::int8 + ${hourMs - 1}) / ${hourMs} * ${hourMs}`

/** One statement, so that rows under deletion are counted once: as rows, or in their hour. */
const statement = `
  ${withPieces}, allocated as (
    select coalesce(sum(ms) filter (where is_running), 0)::text as sandbox_ms,
           coalesce(sum(ms::numeric * milli_vcpus) filter (where is_running), 0)::text as milli_vcpu_ms,
           coalesce(sum(ms::numeric * memory_bytes) filter (where is_running), 0)::text as memory_byte_ms,
           coalesce(sum(ms::numeric * volume_bytes) filter (where has_volume and not is_snapshot), 0)::text as volume_byte_ms,
           coalesce(sum(ms::numeric * volume_bytes) filter (where has_volume and is_snapshot), 0)::text as snapshot_byte_ms
    from piece
  ), hours as (
    select coalesce(sum(cpu_us), 0) as cpu_us, coalesce(sum(cpu_samples), 0) as cpu_samples, coalesce(sum(operations), 0) as operations,
           coalesce(sum(executes), 0) as executes
    from usage_hours where account_id = $1 and hour >= $2::int8 and hour < $3::int8
  ), before as (${restOfHour("$2")}
  ), after as (${restOfHour("$3")}
  )
  select least(i.at, $3::int8) as as_of, a.*, (h.cpu_us + before.us - after.us)::text as cpu_us,
         (h.cpu_samples + before.samples - after.samples)::int8 as cpu_samples,
         (h.operations + (select count(*) from actors where account_id = $1 and kind = 'operation'
                          and created_at >= $2::int8 and created_at < $3::int8))::int8 as operations,
         (h.executes + (select count(*) from executions where account_id = $1
                        and started_at >= $2::int8 and started_at < $3::int8))::int8 as executes
  from instant i, allocated a, hours h, before, after`

export class UsageReports extends Context.Service<
  UsageReports,
  {
    readonly read: (accountId: string, query: UsageQuery) => Effect.Effect<UsageReport, InvalidRequest>
  }
>()("atoll/wallet/UsageReports") {
  static readonly layer = Layer.effect(
    UsageReports,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const executionLog = yield* ExecutionLog
      const find = SqlSchema.findOne({
        Request: ReportRequest,
        Result: Row,
        execute: (request) => sql.unsafe(statement, request)
      })
      return {
        read: Effect.fn("UsageReports.read")(function* (accountId, query) {
          const now = yield* Clock.currentTimeMillis
          const { from, to } = yield* reportWindow(query, now)
          yield* executionLog.write
          const found = yield* Effect.orDie(find([accountId, from, to, now]))
          return {
            from,
            to,
            asOf: found.as_of,
            sandboxMs: found.sandbox_ms,
            milliVcpuMs: found.milli_vcpu_ms,
            memoryByteMs: found.memory_byte_ms,
            volumeByteMs: found.volume_byte_ms,
            snapshotByteMs: found.snapshot_byte_ms,
            cpuUs: found.cpu_samples === 0 ? null : found.cpu_us,
            operations: found.operations,
            executes: found.executes
          }
        })
      }
    })
  )
}
