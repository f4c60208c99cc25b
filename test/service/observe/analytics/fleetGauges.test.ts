/** The operator's metrics of each host of a fleet. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { SqlClient } from "effect/sql"
import { FleetGauges } from "../../../../src/observe/analytics/FleetGauges.ts"
import { sampleOf } from "../../../support/Scrape.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { WorldFleet } from "../../fleet/WorldFleet.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("metrics of hosts", (it) => {
  it.effect("count hosts by state, and show the reservations, Sandboxes and last contact of each", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const fleet = new WorldFleet()
      yield* fleet.add({ id: "host_used", vcpus: 40, memoryBytes: 4000, diskBytes: 50_000 })
      yield* fleet.add({ id: "host_away", vcpus: 10 }, "lost")
      yield* fleet.add({ id: "host_new" }, null)
      yield* fleet.add({ id: "host_removed" }, "gone")
      yield* sql`update hosts set vcpus_promised = 3, memory_promised = 300, disk_promised = 3000 where id = 'host_used'`
      yield* sql`update hosts set seen_at = seen_at - 90000 where id = 'host_away'`
      for (const [id, isUp] of [
        ["sbx_one", true],
        ["sbx_two", true],
        ["sbx_three", false]
      ] as const) {
        yield* sql`
          insert into host_promises (sandbox_id, host_id, vcpus, memory_bytes, disk_bytes, is_up)
          values (${id}, 'host_used', 1, 150, 1000, ${isUp})`
      }
      yield* Effect.flatMap(FleetGauges, ({ refresh }) => refresh).pipe(Effect.provide(FleetGauges.layer))
      const text = yield* PrometheusMetrics.format()
      const states = ["joining", "ready", "cordoned", "draining", "suspect", "lost", "gone"].map((state) =>
        sampleOf(text, `atoll_fleet_hosts{state="${state}"}`)
      )
      assert.deepStrictEqual(states, [1, 1, 0, 0, 0, 1, undefined])
      const measure = (name: string, host: string) => sampleOf(text, `atoll_fleet_host_${name}{host="${host}"}`)
      const told = {
        sandboxes: 3,
        sandboxes_up: 2,
        vcpus: 40,
        vcpus_promised: 3,
        memory_bytes: 4000,
        memory_promised_bytes: 300,
        disk_bytes: 50_000,
        disk_promised_bytes: 3000
      }
      for (const [name, value] of Object.entries(told)) assert.strictEqual(measure(name, "host_used"), value, name)
      assert.closeTo(measure("seen_seconds", "host_away")!, 90, 60)
      assert.isBelow(measure("seen_seconds", "host_used")!, 60)
      assert.strictEqual(measure("vcpus", "host_away"), 10)
      assert.strictEqual(measure("sandboxes", "host_new"), 0)
      assert.isUndefined(measure("vcpus", "host_removed"))
    })
  )
})
