/**
 * Services over a database, with hosts that are simulated worlds of this process, join, beat and are supervised:
 * everything except the sockets.
 */
import { randomUUID } from "node:crypto"
import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { Atoll } from "../../../src/app/Atoll.ts"
import { ActorCluster } from "../../../src/engine/ActorCluster.ts"
import { FleetCopies } from "../../../src/fleet/FleetCopies.ts"
import { FleetHosts } from "../../../src/fleet/FleetHosts.ts"
import { FleetPlacement } from "../../../src/fleet/FleetPlacement.ts"
import { FleetRuntime } from "../../../src/fleet/FleetRuntime.ts"
import { HostJoins } from "../../../src/fleet/HostJoins.ts"
import { Hosts } from "../../../src/fleet/Hosts.ts"
import { Reservations } from "../../../src/fleet/Reservations.ts"
import { simulatedRuntime } from "../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import type { HostDescription } from "../../../src/runtime/distant/HostDescription.ts"
import { type InventoryEntry, type Runtime, RuntimeUnavailable } from "../../../src/runtime/Runtime.ts"
import { testSettings } from "../TestSettings.ts"

/** One machine of the fleet: it lives on while services come and go. */
export class WorldHost {
  readonly id: string
  readonly world: SimulatedWorld
  boot: string = randomUUID()
  installation: string | null = null
  driver: HostDescription["driver"] = "simulated"
  /** None of its messages goes through, in either direction. */
  isCut = false
  /** It is up, and sends no heartbeat. */
  isSilent = false
  /** It answers no request for telemetry of a Sandbox. */
  isSecretive = false
  /** The Sandboxes whose telemetry was requested. */
  readonly sampled: Array<string> = []
  /** The inventory that it reports instead of the true one. */
  lies: ReadonlyArray<InventoryEntry> = []

  constructor(id: string, world: SimulatedWorld) {
    this.id = id
    this.world = world
  }

  static readonly make = (id: string) => Effect.map(SimulatedWorld.make, (world) => new WorldHost(id, world))

  get description(): HostDescription {
    return {
      hostId: this.id,
      label: `the folder of ${this.id}`,
      address: { host: "127.0.0.1", port: 1 },
      installation: this.installation,
      boot: this.boot,
      version: "0",
      driver: this.driver,
      kind: "namespace",
      capacity: { vcpus: 100, memoryBytes: 2 ** 40, diskBytes: 2 ** 40, parallelStarts: 4 },
      suspends: true,
      takesSnapshots: true,
      restoresSnapshots: true,
      runsImages: this.world.runsImages,
      buildsImages: this.world.buildObstacle === null,
      movesImages: true,
      networkFiltered: true,
      networkRefused: null
    }
  }

  /** Joins when it has to, and beats, while this effect runs. */
  readonly live = Effect.gen({ self: this }, function* (this: WorldHost) {
    const joins = yield* HostJoins
    let isIn = ""
    const beat = Effect.gen({ self: this }, function* (this: WorldHost) {
      if (this.isCut || this.isSilent) return
      const { hostId, boot, capacity, networkRefused } = this.description
      if (isIn !== boot) {
        const { installation } = yield* joins.join(this.description)
        this.installation = installation
        isIn = boot
      } else yield* joins.beat({ hostId, boot, capacity, networkRefused })
    }).pipe(
      Effect.catchTag("HostUnknown", () =>
        Effect.sync(() => {
          isIn = ""
        })
      ),
      Effect.catchTag("JoinRefused", () => Effect.void)
    )
    yield* Effect.repeat(beat, Schedule.spaced(50))
  })

  readonly runtime = (): Runtime["Service"] => {
    const near = simulatedRuntime(this.world)
    const cut = new RuntimeUnavailable({ message: "It cannot be reached." })
    const unlessCut = <A, E, R>(call: Effect.Effect<A, E, R>) =>
      Effect.suspend((): Effect.Effect<A, E | RuntimeUnavailable, R> => (this.isCut ? Effect.fail(cut) : call))
    return {
      ...near,
      provision: (spec, turn) => unlessCut(near.provision(spec, turn)),
      stop: (id, generation) => unlessCut(near.stop(id, generation)),
      destroy: (id) => unlessCut(near.destroy(id)),
      suspend: (id, generation) => unlessCut(near.suspend(id, generation)),
      sample: (id, generation) => {
        this.sampled.push(id)
        return this.isSecretive ? Effect.never : near.sample(id, generation)
      },
      snapshots: {
        ...near.snapshots,
        read: (id, hostId) => unlessCut(near.snapshots.read(id, hostId)),
        receive: (id, image, kind) => unlessCut(near.snapshots.receive(id, image, kind)),
        remove: (id, hostId) => unlessCut(near.snapshots.remove(id, hostId))
      },
      images: {
        ...near.images,
        read: (digest) => unlessCut(near.images.read(digest)),
        store: (digest, pieces) => unlessCut(near.images.store(digest, pieces)),
        inventory: unlessCut(near.images.inventory)
      },
      inventory: Effect.map(unlessCut(near.inventory), (entries) => [...entries, ...this.lies])
    }
  }
}

export const fleetTimes = {
  ATOLL_HOST_LEASE_MS: "2000",
  ATOLL_HOST_LOST_AFTER_MS: "1000",
  ATOLL_RECONCILE_INTERVAL_MS: "100"
}

/** One run of a service of the fleet; closing its scope is a crash. */
export const fleetService = (
  hosts: ReadonlyArray<WorldHost>,
  environment: Readonly<Record<string, string>> = {},
  cluster: typeof ActorCluster.layerSingle = ActorCluster.layerSingle
) =>
  Atoll.ofFleet(
    { sweepIntervalMs: 200 },
    { watch: Layer.empty, kinds: FleetHosts.actors, placement: FleetPlacement.layer }
  ).pipe(
    Layer.provideMerge(FleetRuntime.layer),
    Layer.provide(FleetCopies.layer),
    Layer.provideMerge(Layer.merge(Reservations.layer, Hosts.layer)),
    Layer.provideMerge(
      FleetHosts.ways((hostId) => {
        const host = hosts.find(({ id }) => id === hostId)
        return host === undefined || host.isCut
          ? Effect.fail(new RuntimeUnavailable({ message: `${hostId} cannot be reached.` }))
          : Effect.succeed(host.runtime())
      })
    ),
    Layer.provide(cluster),
    Layer.provide(testSettings({ ...fleetTimes, ...environment }))
  )

/** Waits until the host has that state. */
export const untilHost = Effect.fnUntraced(function* (hostId: string, state: string) {
  const hosts = yield* Hosts
  return yield* hosts.find(hostId).pipe(
    Effect.repeat({ until: (row) => row?.state === state, schedule: Schedule.spaced(10) }),
    Effect.map((row) => row!),
    Effect.timeout("60 seconds")
  )
})

/** The states that it entered, in order. */
export const statesOf = (hostId: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly to: string }>`
      select to_state as to from transitions where actor_id = ${hostId} and from_state is distinct from to_state order by revision`
  ).pipe(Effect.map((rows) => rows.map(({ to }) => to)))
