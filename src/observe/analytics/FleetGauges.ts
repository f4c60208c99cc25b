/**
 * Gauges of the hosts of a fleet and their reservations. They are read when metrics are requested, and then not again for a while. Every service
 * shows the same values; a process without a fleet has no hosts to show.
 */
import { Clock, Context, Effect, Layer, Metric, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { hostMachine } from "../../../machines/host.ts"
import { taggedStates } from "../../engine/taggedStates.ts"
import { refreshed } from "../../platform/metric/refreshed.ts"
import { Int8, textColumn } from "../../store/Columns.ts"

const freshForMs = 15_000

const removedStates = taggedStates(hostMachine, "removed")
const shownStates = Object.keys(hostMachine.states).filter((state) => !removedStates.includes(state))

const context = Context.empty()

const hosts = (state: string) =>
  Metric.gauge("atoll_fleet_hosts", { description: "Hosts that were not removed, by state.", attributes: { state } })

const ofHost = (name: string, description: string) => (host: string) =>
  Metric.gauge(name, { description, attributes: { host } })

/** Maps a column to its gauge. */
const measures = {
  seenSeconds: ofHost("atoll_fleet_host_seen_seconds", "Seconds since the last heartbeat of a host."),
  sandboxes: ofHost("atoll_fleet_host_sandboxes", "Sandboxes that live on a host."),
  sandboxesUp: ofHost("atoll_fleet_host_sandboxes_up", "Sandboxes of a host that run, sleep or boot."),
  vcpus: ofHost("atoll_fleet_host_vcpus", "vCPUs that the Sandboxes of a host may have."),
  vcpusPromised: ofHost("atoll_fleet_host_vcpus_promised", "vCPUs of a host that are reserved."),
  memoryBytes: ofHost("atoll_fleet_host_memory_bytes", "Memory that the Sandboxes of a host may have."),
  memoryPromised: ofHost("atoll_fleet_host_memory_promised_bytes", "Memory of a host that is reserved."),
  diskBytes: ofHost("atoll_fleet_host_disk_bytes", "Disk that the volumes of a host may take."),
  diskPromised: ofHost("atoll_fleet_host_disk_promised_bytes", "Disk of a host that is reserved.")
}
type Measure = keyof typeof measures
const measureNames = Object.keys(measures) as ReadonlyArray<Measure>

const Row = Schema.Struct({
  id: Schema.String,
  state: Schema.NullOr(Schema.String),
  seenAt: Int8,
  sandboxes: Schema.Int,
  sandboxesUp: Schema.Int,
  vcpus: Schema.Int,
  vcpusPromised: Schema.Int,
  memoryBytes: Int8,
  memoryPromised: Int8,
  diskBytes: Int8,
  diskPromised: Int8
})

export class FleetGauges extends Context.Service<
  FleetGauges,
  {
    /** Reads the gauges again if they are old. Keeps them if the database does not answer soon. */
    readonly refresh: Effect.Effect<void>
  }
>()("atoll/observe/analytics/FleetGauges") {
  static readonly layer = Layer.effect(
    FleetGauges,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const find = SqlSchema.findAll({
        Request: Schema.Void,
        Result: Row,
        execute: () => sql`
          select h.id, a.status as state, h.seen_at as "seenAt", p.sandboxes, p.up as "sandboxesUp", h.vcpus, h.vcpus_promised as "vcpusPromised",
            h.memory_bytes as "memoryBytes", h.memory_promised as "memoryPromised", h.disk_bytes as "diskBytes", h.disk_promised as "diskPromised"
          from hosts h left join actors a on a.id = h.id and a.kind = 'host',
            lateral (
              select count(*)::int4 as sandboxes, (count(*) filter (where is_up))::int4 as up from host_promises where host_id = h.id) as p
          where a.status is null or a.status <> all(${textColumn(removedStates)}::text[])`
      })
      const byState = new Map(shownStates.map((state) => [state, hosts(state)]))
      /** Hosts seen before: a host that is gone is reported with zeros. */
      const seen = new Map<string, Readonly<Record<Measure, Metric.Gauge<number>>>>()
      const gaugesOf = (id: string) => {
        const known = seen.get(id)
        if (known !== undefined) return known
        const made = Object.fromEntries(measureNames.map((name) => [name, measures[name](id)])) as Record<
          Measure,
          Metric.Gauge<number>
        >
        seen.set(id, made)
        return made
      }

      const read = Effect.gen(function* () {
        const rows = yield* find()
        const now = yield* Clock.currentTimeMillis
        for (const [state, gauge] of byState) {
          gauge.updateUnsafe(rows.filter((row) => (row.state ?? "joining") === state).length, context)
        }
        const found = new Map(
          rows.map((row) => [row.id, { ...row, seenSeconds: Math.max(0, now - row.seenAt) / 1000 }])
        )
        for (const id of found.keys()) gaugesOf(id)
        for (const [id, gauges] of seen) {
          for (const name of measureNames) gauges[name].updateUnsafe(found.get(id)?.[name] ?? 0, context)
        }
      })
      return FleetGauges.of({ refresh: refreshed(read, freshForMs) })
    })
  )
}
