/**
 * A service over a database and hosts that are simulated worlds of this process. There are no host actors: the test
 * writes host states directly.
 */
import { Effect, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { Atoll } from "../../../src/app/Atoll.ts"
import { ActorCluster } from "../../../src/engine/ActorCluster.ts"
import { FleetCopies } from "../../../src/fleet/FleetCopies.ts"
import { FleetPlacement } from "../../../src/fleet/FleetPlacement.ts"
import { FleetRuntime } from "../../../src/fleet/FleetRuntime.ts"
import { HostFeeds } from "../../../src/fleet/HostFeeds.ts"
import { HostLinks } from "../../../src/fleet/HostLinks.ts"
import { Reservations } from "../../../src/fleet/Reservations.ts"
import { simulatedRuntime } from "../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { RuntimeUnavailable } from "../../../src/runtime/Runtime.ts"
import { testSettings } from "../../support/TestSettings.ts"

export interface WorldHost {
  readonly id: string
  readonly kind?: "vm" | "namespace"
  readonly vcpus?: number
  readonly memoryBytes?: number
  readonly diskBytes?: number
  readonly networkRefused?: string
  readonly runsImages?: boolean
  readonly buildsImages?: boolean
}

/** Worlds by the ids of their hosts; those in `cut` are unreachable. */
export class WorldFleet {
  readonly worlds = new Map<string, SimulatedWorld>()
  readonly cut = new Set<string>()
  /** The hosts that the service supervises; null: all. */
  supervised: ReadonlyArray<string> | null = null
  /** The Sandboxes whose telemetry was requested, once per request. */
  readonly sampled: Array<string> = []

  /** Ready, or in another state. */
  readonly add = Effect.fnUntraced(
    { self: this },
    function* (this: WorldFleet, host: WorldHost, status: string | null = "ready") {
      const sql = yield* SqlClient.SqlClient
      const { runsImages = true, buildsImages = true } = host
      const { id, kind = "namespace", vcpus = 1000, memoryBytes = 1e15, diskBytes = 1e15, networkRefused = null } = host
      const now = BigInt(Date.now())
      this.worlds.set(id, yield* SimulatedWorld.make)
      yield* sql`
        insert into hosts (id, label, address_host, address_port, boot, version, driver, kind, vcpus, memory_bytes, disk_bytes, parallel_starts,
          suspends, runs_images, builds_images, network_filtered, network_refused, joined_at, seen_at)
        values (${id}, ${id}, '127.0.0.1', 1, 'boot', '0', 'simulated', ${kind}, ${vcpus}, ${BigInt(memoryBytes)}, ${BigInt(diskBytes)}, 4,
          false, ${runsImages}, ${buildsImages}, true, ${networkRefused}, ${now}, ${now})`
      if (status !== null) yield* this.becomes(id, status)
    }
  )

  readonly becomes = Effect.fnUntraced(function* (id: string, status: string) {
    const sql = yield* SqlClient.SqlClient
    const snapshot = JSON.stringify({ value: status, context: {} })
    yield* sql`
      insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
      values (${id}, 'host', '', '', 1, 1, '{}', ${snapshot}::text::jsonb, 0)
      on conflict (id) do update set snapshot = excluded.snapshot`
  })

  /** The hosts on which this Sandbox has a machine. */
  aliveOn(sandboxId: string): ReadonlyArray<string> {
    return [...this.worlds].flatMap(([id, world]) => (world.machines.has(sandboxId) ? [id] : []))
  }

  readonly links = Layer.succeed(HostLinks, {
    to: (hostId: string) => {
      const world = this.worlds.get(hostId)
      if (world === undefined || this.cut.has(hostId)) {
        return Effect.fail(new RuntimeUnavailable({ message: `${hostId} cannot be reached.` }))
      }
      const near = simulatedRuntime(world)
      const sample = (sandboxId: string, generation: number) => {
        this.sampled.push(sandboxId)
        return near.sample(sandboxId, generation)
      }
      return Effect.succeed({ ...near, sample })
    }
  })

  readonly service = (environment: Readonly<Record<string, string>> = {}) =>
    Atoll.ofFleet(
      { sweepIntervalMs: 200 },
      { watch: Layer.empty, kinds: Layer.empty, placement: FleetPlacement.layer }
    ).pipe(
      Layer.provide(FleetRuntime.layer),
      Layer.provide(FleetCopies.layer),
      Layer.provideMerge(Reservations.layer),
      Layer.provide(this.links),
      Layer.provide(
        Layer.succeed(HostFeeds, {
          supervised: Effect.sync(() => this.supervised ?? [...this.worlds.keys()]),
          console: Stream.never
        })
      ),
      Layer.provide(ActorCluster.layerSingle),
      Layer.provide(testSettings(environment))
    )
}

/** The faults of the reserved sums, judged by the Sandboxes' own states; empty: none. */
export const wrongPromises = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const sums = yield* sql<{ readonly id: string; readonly promised: string; readonly summed: string }>`
    select h.id, format('%s %s %s', vcpus_promised, memory_promised, disk_promised) as promised, (
      select format('%s %s %s', coalesce(sum(p.vcpus) filter (where is_up), 0), coalesce(sum(p.memory_bytes) filter (where is_up), 0),
        coalesce(sum(p.disk_bytes), 0))
      from host_promises p where p.host_id = h.id) as summed
    from hosts h`
  const over = yield* sql<{ readonly id: string }>`
    select id from hosts where vcpus_promised > vcpus or memory_promised > memory_bytes or disk_promised > disk_bytes
      or vcpus_promised < 0 or memory_promised < 0 or disk_promised < 0`
  // A Sandbox at rest: none of its commands is open.
  const strange = yield* sql<{ readonly id: string; readonly status: string; readonly is_up: boolean | null }>`
    select a.id, a.status, p.is_up from actors a left join host_promises p on p.sandbox_id = a.id
    where a.kind = 'sandbox' and not a.pending @? '$[*] ? (@.type != "meter")' and (
      (a.status in ('deleted', 'expired') and p.sandbox_id is not null)
      or (a.status in ('running', 'sleeping') and p.is_up is distinct from true)
      or (a.status in ('stopped', 'failed') and p.is_up is true)
      or (a.status = 'stopped' and p.is_up is null and a.snapshot -> 'context' ->> 'startedAt' is not null))`
  return [...sums.filter(({ promised, summed }) => promised !== summed), ...over, ...strange]
})
