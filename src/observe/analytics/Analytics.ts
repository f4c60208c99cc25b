/**
 * A Sandbox's activity and usage over a window of time, computed from its transition log, its operations and its telemetry.
 *
 * Buckets begin at `from` and are `resolutionSeconds` long. CPU and network are the usage within a bucket, memory is the mean of its samples, the
 * volume is its last sample. Null means "not measured", 0 is a measurement.
 *
 * @source contract.md "Analytics and logs", contract-details.md SandboxAnalytics
 */

import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { InvalidRequest, type NotFound, type RateLimited } from "../../../schemas/Errors.ts"
import { analyticsSamplesMax } from "../../../schemas/Limits.ts"
import { Settings } from "../../Config.ts"
import { ownSandbox } from "../../sandbox/ownSandbox.ts"
import { Actors } from "../../store/Actors.ts"
import { Int8 } from "../../store/Columns.ts"
import { ExecutionLog } from "../../store/ExecutionLog.ts"
import { openIn } from "../../store/openActors.ts"
import { fieldOf } from "../../store/SnapshotFields.ts"
import { foldLifecycle } from "./LifecycleFold.ts"
import { countRequest } from "./RateWindow.ts"

const defaultWindowMs = 24 * 60 * 60 * 1000
const logMax = 100_000
const transitionsMax = 10_000
/** How many samples before a window are read to find a counter's previous value. As a rule one suffices; more are needed where some could not be measured. */
const samplesBefore = 100

export interface AnalyticsQuery {
  /** Epoch milliseconds. */
  readonly from: number | null
  readonly to: number | null
  readonly resolutionSeconds: number
  readonly generation: number | null
}

export interface ResourceBucket {
  readonly at: string
  readonly cpuSeconds: number | null
  readonly memoryBytes: number | null
  readonly volumeBytes: number | null
  readonly networkRxBytes: number | null
  readonly networkTxBytes: number | null
}

export interface AnalyticsAnswer {
  readonly sandboxId: string
  readonly from: string
  readonly to: string
  readonly resolutionSeconds: number
  readonly generation: number | null
  readonly lifecycle: {
    readonly createdAt: string
    readonly deletedAt: string | null
    readonly boots: number
    readonly runningSeconds: number
    readonly transitions: ReadonlyArray<{
      readonly at: string
      readonly from: string | null
      readonly to: string
      readonly reason: string | null
    }>
  }
  readonly operations: {
    readonly started: number
    readonly completed: number
    readonly cancelled: number
    readonly failed: number
    readonly executeCount: number
    readonly medianDurationMs: number | null
    readonly p99DurationMs: number | null
  }
  readonly resources: { readonly samples: ReadonlyArray<ResourceBucket> }
}

/** A part of a Sandbox's life; null means any generation. The end is exclusive. */
const Part = Schema.Struct({
  sandboxId: Schema.String,
  from: Int8,
  to: Int8,
  generation: Schema.NullOr(Schema.Int)
})

const Counts = Schema.Struct({
  started: Schema.Int,
  completed: Schema.Int,
  cancelled: Schema.Int,
  failed: Schema.Int,
  execute_count: Schema.Int,
  median: Schema.NullOr(Schema.Finite),
  p99: Schema.NullOr(Schema.Finite)
})

const Bucket = Schema.Struct({
  bucket: Schema.Int,
  cpu_seconds: Schema.NullOr(Schema.Finite),
  memory_bytes: Schema.NullOr(Schema.Finite),
  volume_bytes: Schema.NullOr(Schema.Finite),
  network_rx_bytes: Schema.NullOr(Schema.Finite),
  network_tx_bytes: Schema.NullOr(Schema.Finite)
})

const iso = (ms: number) => new Date(ms).toISOString()
const invalid = (path: string, message: string) =>
  new InvalidRequest({ details: { issues: [{ path: [path], message }] } })

export class Analytics extends Context.Service<
  Analytics,
  {
    readonly read: (
      accountId: string,
      sandboxId: string,
      query: AnalyticsQuery
    ) => Effect.Effect<AnalyticsAnswer, NotFound | InvalidRequest | RateLimited>
  }
>()("atoll/observe/analytics/Analytics") {
  static readonly layer = Layer.effect(
    Analytics,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const actors = yield* Actors
      const executionLog = yield* ExecutionLog
      const { analyticsRequestsPerMinute } = yield* Settings

      const windowOf = Effect.fnUntraced(function* ({ from, to, resolutionSeconds }: AnalyticsQuery) {
        const end = to ?? (yield* Clock.currentTimeMillis)
        const start = from ?? end - defaultWindowMs
        if (start >= end) return yield* invalid("from", "Expected an instant before `to`")
        const buckets = Math.ceil((end - start) / (resolutionSeconds * 1000))
        if (buckets > analyticsSamplesMax) {
          return yield* invalid(
            "resolutionSeconds",
            `The window has ${buckets} samples at this resolution; at most ${analyticsSamplesMax} fit an answer`
          )
        }
        return { from: start, to: end, buckets }
      })

      /** Equals percentile_cont, computed from the distinct durations and their counts, so that only distinct values are sorted. */
      const percentile = (share: number) => sql`(
        with place as (select (max(total) - 1)::float8 * ${share}::float8 as at from durations)
        select below.ms::float8 + (above.ms - below.ms)::float8 * (place.at - floor(place.at)) from place,
          lateral (select min(ms) as ms from durations where upto > floor(place.at)) as below,
          lateral (select min(ms) as ms from durations where upto > ceil(place.at)) as above)`

      const countOperations = SqlSchema.findOne({
        Request: Part,
        Result: Counts,
        execute: ({ sandboxId, from, to, generation }) => sql`
          with ended as (
            select outcome, duration_ms as ms, count(*) as n from actors
            where sandbox_id = ${sandboxId} and kind = 'operation' and ended_at is not null and ended_at >= ${from} and ended_at < ${to}
              and (${generation}::int8 is null or generation = ${generation}::int8)
            group by 1, 2
          ), begun as (
            select count(*) as started from actors
            where sandbox_id = ${sandboxId} and kind = 'operation' and duration_ms is not null
              and ended_at - duration_ms >= ${from} and ended_at - duration_ms < ${to}
              and (${generation}::int8 is null or generation = ${generation}::int8)
          ), executed as (
            select finished_at - started_at as ms, count(*) as n from executions
            where sandbox_id = ${sandboxId} and finished_at >= ${from} and finished_at < ${to}
              and (${generation}::int8 is null or generation = ${generation}::int8)
            group by 1
          ), open as (
            -- What has not ended always waits for something.
            select count(*) as started from actors
            where ${sql.literal(openIn("actors"))} = ${sandboxId} and kind = 'operation' and ended_at is null
              and ${sql.literal(fieldOf("actors", "startedAt", "numeric"))} >= ${from} and ${sql.literal(fieldOf("actors", "startedAt", "numeric"))} < ${to}
              and (${generation}::int8 is null or generation = ${generation}::int8)
          ), durations as (
            select ms, sum(sum(n)) over (order by ms) as upto, sum(sum(n)) over () as total from (
              select ms, n from ended where outcome = 'completed' union all select ms, n from executed
            ) as each group by ms
          )
          select ((select started from begun) + (select started from open))::int4 as started,
                 (select coalesce(sum(n), 0) from ended where outcome = 'completed')::int4 as completed,
                 (select coalesce(sum(n), 0) from ended where outcome = 'cancelled')::int4 as cancelled,
                 (select coalesce(sum(n), 0) from ended where outcome = 'failed')::int4 as failed,
                 (select coalesce(sum(n), 0) from executed)::int4 as execute_count,
                 ${percentile(0.5)} as median, ${percentile(0.99)} as p99`
      })

      const operationsIn = Effect.fnUntraced(function* (
        sandboxId: string,
        window: { readonly from: number; readonly to: number },
        generation: number | null
      ) {
        yield* executionLog.write
        const counts = yield* Effect.orDie(countOperations({ sandboxId, from: window.from, to: window.to, generation }))
        return {
          started: counts.started,
          completed: counts.completed,
          cancelled: counts.cancelled,
          failed: counts.failed,
          executeCount: counts.execute_count,
          medianDurationMs: counts.median,
          p99DurationMs: counts.p99
        }
      })

      const findBuckets = SqlSchema.findAll({
        Request: Schema.Struct({ ...Part.fields, resolutionMs: Int8 }),
        Result: Bucket,
        // A counter's growth belongs to the sample that shows it; the first one of a boot shows all since that boot. A counter only grows, so
        // the largest before is the last before that was measured: of those in the window, and of some before it.
        execute: ({ sandboxId, from, to, generation, resolutionMs }) => sql`
          with samples as (
            select at, memory_bytes, volume_bytes,
                   cpu_seconds - coalesce(max(cpu_seconds) over before, 0) as cpu_seconds,
                   network_rx_bytes - coalesce(max(network_rx_bytes) over before, 0) as network_rx_bytes,
                   network_tx_bytes - coalesce(max(network_tx_bytes) over before, 0) as network_tx_bytes
            from (
              select * from telemetry_samples where sandbox_id = ${sandboxId} and at >= ${from} and at < ${to}
              union all
              (select * from telemetry_samples where sandbox_id = ${sandboxId} and at < ${from} order by at desc limit ${samplesBefore})
            ) as known
            where ${generation}::int8 is null or generation = ${generation}::int8
            window before as (partition by generation order by at rows between unbounded preceding and 1 preceding)
          )
          select ((at - ${from}) / ${resolutionMs})::int4 as bucket,
                 (sum(greatest(cpu_seconds, 0)) filter (where cpu_seconds is not null))::float8 as cpu_seconds,
                 avg(memory_bytes)::float8 as memory_bytes,
                 ((array_agg(volume_bytes order by at desc) filter (where volume_bytes is not null))[1])::float8 as volume_bytes,
                 (sum(greatest(network_rx_bytes, 0)) filter (where network_rx_bytes is not null))::float8 as network_rx_bytes,
                 (sum(greatest(network_tx_bytes, 0)) filter (where network_tx_bytes is not null))::float8 as network_tx_bytes
          from samples where at >= ${from} group by 1`
      })

      const resourcesIn = Effect.fnUntraced(function* (
        sandboxId: string,
        window: { readonly from: number; readonly to: number; readonly buckets: number },
        resolutionSeconds: number,
        generation: number | null
      ) {
        const resolutionMs = resolutionSeconds * 1000
        const rows = yield* Effect.orDie(
          findBuckets({ sandboxId, from: window.from, to: window.to, generation, resolutionMs })
        )
        const found = new Map(rows.map((row) => [row.bucket, row]))
        const whole = (value: number | null | undefined) => (value == null ? null : Math.round(value))
        return Array.from({ length: window.buckets }, (_, index): ResourceBucket => {
          const row = found.get(index)
          return {
            at: iso(window.from + index * resolutionMs),
            cpuSeconds: row?.cpu_seconds ?? null,
            memoryBytes: whole(row?.memory_bytes),
            volumeBytes: whole(row?.volume_bytes),
            networkRxBytes: whole(row?.network_rx_bytes),
            networkTxBytes: whole(row?.network_tx_bytes)
          }
        })
      })

      return Analytics.of({
        read: Effect.fn("Analytics.read")(function* (accountId, sandboxId, query) {
          const window = yield* windowOf(query)
          const record = yield* ownSandbox(actors, accountId, sandboxId)
          yield* countRequest(accountId, "analytics", analyticsRequestsPerMinute).pipe(
            Effect.provideService(SqlClient.SqlClient, sql)
          )
          const log = yield* actors.log(sandboxId, 0, logMax)
          const lifecycle = foldLifecycle(log, window, query.generation)
          const { createdAt, deletedAt } = record.context
          return {
            sandboxId,
            from: iso(window.from),
            to: iso(window.to),
            resolutionSeconds: query.resolutionSeconds,
            generation: query.generation,
            lifecycle: {
              createdAt: iso(createdAt),
              deletedAt: deletedAt === null ? null : iso(deletedAt),
              boots: lifecycle.boots,
              runningSeconds: lifecycle.runningSeconds,
              transitions: lifecycle.transitions
                .slice(-transitionsMax)
                .map((entry) => ({ ...entry, at: iso(entry.at) }))
            },
            operations: yield* operationsIn(sandboxId, window, query.generation),
            resources: { samples: yield* resourcesIn(sandboxId, window, query.resolutionSeconds, query.generation) }
          }
        })
      })
    })
  )
}
