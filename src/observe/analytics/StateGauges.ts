/**
 * Gauges of Sandboxes, open operations and the host's reservations. They are read when metrics are requested, and then not again for a while. Two
 * statements use indexes over Sandboxes and over actors with pending work, so ended operations are not read. Every process shows the same values.
 */

import { Context, Effect, Layer, Metric, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { operationMachine } from "../../../machines/operation.ts"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { taggedStates } from "../../engine/taggedStates.ts"
import { refreshed } from "../../platform/metric/refreshed.ts"
import { Runtime } from "../../runtime/Runtime.ts"
import { inhabitedStates, removedStates } from "../../sandbox/sandboxStates.ts"
import { textColumn } from "../../store/Columns.ts"
import { isOpen } from "../../store/openActors.ts"
import { contextOf } from "../../store/SnapshotFields.ts"

const freshForMs = 15_000

const context = Context.empty()

const sandboxes = (status: string, runtime: string) =>
  Metric.gauge("atoll_sandboxes", {
    description: "Sandboxes that are not deleted, by status and runtime.",
    attributes: { status, runtime }
  })

const operations = (status: string) =>
  Metric.gauge("atoll_operations_open", {
    description: "Operations that have not ended, by status.",
    attributes: { status }
  })

const promisedMemory = Metric.gauge("atoll_host_memory_promised_bytes", {
  description: "Memory that the Sandboxes which run or boot may use."
})

const promisedDisk = Metric.gauge("atoll_host_disk_promised_bytes", {
  description: "Disk that the volumes of all Sandboxes may take."
})

const sandboxStates = Object.keys(sandboxMachine.states).filter((state) => !removedStates.includes(state))
const operationStates = taggedStates(operationMachine, "open")

const findSandboxes = (sql: SqlClient.SqlClient) =>
  SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({
      status: Schema.String,
      runtime: Schema.String,
      count: Schema.Int,
      memoryBytes: Schema.Finite,
      diskBytes: Schema.Finite
    }),
    execute: () => sql`
      select status, context ->> 'runtime' as runtime, count(*)::int4 as count,
        sum((context -> 'profile' ->> 'memoryBytes')::float8) as "memoryBytes",
        sum((context -> 'profile' ->> 'diskBytes')::float8) as "diskBytes"
      from (
        select status, ${sql.literal(contextOf("actors"))} as context from actors
        where kind = 'sandbox' and sandbox_status = any(${textColumn(sandboxStates)}::text[])
      ) as there
      group by 1, 2`
  })

const findOperations = (sql: SqlClient.SqlClient) =>
  SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ status: Schema.String, count: Schema.Int }),
    execute: () => sql`
      select status, count(*)::int4 as count from actors
      where ${sql.literal(isOpen("actors"))} and kind = 'operation' and status = any(${textColumn(operationStates)}::text[])
      group by 1`
  })

export class StateGauges extends Context.Service<
  StateGauges,
  {
    /** Reads the gauges again if they are old. Keeps them if the database does not answer soon. */
    readonly refresh: Effect.Effect<void>
  }
>()("atoll/observe/analytics/StateGauges") {
  static readonly layer = Layer.effect(
    StateGauges,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { kind } = yield* Runtime
      const readSandboxes = findSandboxes(sql)
      const readOperations = findOperations(sql)
      /** Values seen before: one that is gone is reported as zero. */
      const seen = new Map(sandboxStates.map((status) => [`${status} ${kind}`, sandboxes(status, kind)]))
      const open = new Map(operationStates.map((status) => [status, operations(status)]))

      const read = Effect.gen(function* () {
        const found = new Map((yield* readSandboxes()).map((row) => [`${row.status} ${row.runtime}`, row]))
        for (const [key, { status, runtime }] of found) if (!seen.has(key)) seen.set(key, sandboxes(status, runtime))
        for (const [key, gauge] of seen) gauge.updateUnsafe(found.get(key)?.count ?? 0, context)
        const rows = [...found.values()]
        const holding = rows.filter(({ status }) => inhabitedStates.includes(status))
        promisedMemory.updateUnsafe(sumOf(holding.map(({ memoryBytes }) => memoryBytes)), context)
        promisedDisk.updateUnsafe(sumOf(rows.map(({ diskBytes }) => diskBytes)), context)
        const counts = new Map((yield* readOperations()).map(({ status, count }) => [status, count]))
        for (const [status, gauge] of open) gauge.updateUnsafe(counts.get(status) ?? 0, context)
      })
      return { refresh: refreshed(read, freshForMs) }
    })
  )
}

const sumOf = (numbers: ReadonlyArray<number>): number => numbers.reduce((sum, number) => sum + number, 0)
