/**
 * One service of a simulated fleet: below HTTP, on a separate link to the database, in one cluster; killed, cut off
 * from the database, restarted.
 */
import { setTimeout as pause } from "node:timers/promises"
import { type Context, Effect, Exit, type Fiber, Layer, Redacted, References, Scope } from "effect"
import { Atoll } from "../../../../src/app/Atoll.ts"
import { ActorCluster } from "../../../../src/engine/ActorCluster.ts"
import type { ActorHost } from "../../../../src/engine/ActorHost.ts"
import { FleetCopies } from "../../../../src/fleet/FleetCopies.ts"
import { FleetHosts } from "../../../../src/fleet/FleetHosts.ts"
import { FleetPlacement } from "../../../../src/fleet/FleetPlacement.ts"
import { FleetRuntime } from "../../../../src/fleet/FleetRuntime.ts"
import type { HostJoins } from "../../../../src/fleet/HostJoins.ts"
import { Reservations } from "../../../../src/fleet/Reservations.ts"
import type { Operations } from "../../../../src/operation/Operations.ts"
import { RuntimeUnavailable } from "../../../../src/runtime/Runtime.ts"
import type { Sandboxes } from "../../../../src/sandbox/Sandboxes.ts"
import { Database } from "../../../../src/store/Database.ts"
import { DatabaseServer } from "../../../../src/store/DatabaseServer.ts"
import { freePort } from "../../freePort.ts"
import { testDatabaseUrl } from "../../TestPostgres.ts"
import { testSettings } from "../../TestSettings.ts"
import { DatabaseWire } from "./DatabaseWire.ts"
import type { Asker, SimulatedHost } from "./SimulatedHost.ts"

export type Services = ActorHost | HostJoins | Operations | Sandboxes

const hostOptions = { sweepIntervalMs: 1_000, stopWithinMs: 0 }

/** As `src/app/FleetService.ts` composes it, except for its links to hosts and theirs to it. */
const serviceOn = (hosts: ReadonlyArray<SimulatedHost>, asker: Asker) => {
  const ways = FleetHosts.ways((hostId) => {
    const host = hosts.find(({ id }) => id === hostId)
    return host === undefined ? Effect.fail(new RuntimeUnavailable({ message: "There is none." })) : host.dial(asker)
  })
  const fleet = { watch: Layer.empty, kinds: FleetHosts.actors, placement: FleetPlacement.layer }
  return Atoll.ofFleet(hostOptions, fleet).pipe(
    Layer.provide(FleetRuntime.layer),
    Layer.provide(FleetCopies.layer),
    Layer.provide(Reservations.layer),
    Layer.provide(ways),
    Layer.provide(ActorCluster.layer)
  )
}

/** Its answer is lost. */
export const lost = "lost"

/**
 * A killed run that has not ended by then is left to itself: some of its work waits for the database without end, so that nothing is lost, and no
 * interruption ends it. It has no way to the database or to a host any more.
 */
const goneWithinMs = 5_000

interface Life {
  isDead: boolean
  readonly scope: Scope.Closeable
  readonly wire: DatabaseWire
  /** With how its client learns that the service died. */
  readonly calls: Map<Fiber.Fiber<unknown, unknown>, () => void>
  service: Context.Context<Services> | null
}

export interface SimulatedServiceOptions {
  /** For sockets, a folder for each run. */
  readonly folder: string
  /** Of the real database. */
  readonly socketFolder: string
  readonly database: string
  readonly hosts: ReadonlyArray<SimulatedHost>
  readonly environment: Readonly<Record<string, string>>
}

export class SimulatedService {
  readonly name: string
  readonly #options: SimulatedServiceOptions
  #life: Life | null = null
  #lives = 0
  readonly #ends: Array<Promise<unknown>> = []

  constructor(name: string, options: SimulatedServiceOptions) {
    this.name = name
    this.#options = options
  }

  /** It takes calls. */
  get isUp(): boolean {
    return this.#life !== null && this.#life.service !== null
  }

  /** What is not done yet: a start, calls. */
  get waiting(): ReadonlyArray<string> {
    const life = this.#life
    return [
      ...(life === null ? [`${this.name} is down`] : life.service === null ? [`${this.name} starts`] : []),
      ...(life === null ? [] : [`${this.name} has ${life.calls.size} calls`])
    ]
  }

  async start(): Promise<void> {
    const { folder, socketFolder, database, hosts, environment } = this.#options
    const wire = await DatabaseWire.open(`${folder}/${this.name}.${++this.#lives}`, socketFolder)
    const life: Life = {
      isDead: false,
      scope: Scope.makeUnsafe(),
      wire,
      calls: new Map(),
      service: null
    }
    this.#life = life
    const settings = testSettings({ ATOLL_CLUSTER_PORT: String(await freePort()), ...environment })
    const layer = serviceOn(hosts, life).pipe(
      Layer.provide(Database.layerOn),
      Layer.provide(DatabaseServer.at(Redacted.make(testDatabaseUrl(wire.folder, database)))),
      Layer.provide(settings)
    )
    life.service = (await this.#quietly(Layer.buildWithScope(layer, life.scope))) as Context.Context<Services>
  }

  /** A failing service logs much about it. */
  #quietly<A, E>(effect: Effect.Effect<A, E>): Promise<A> {
    return Effect.runPromise(Effect.provideService(effect, References.MinimumLogLevel, "None"))
  }

  /** A client's request: its result, or `lost` where the service died before the answer. */
  async call<A, E>(request: Effect.Effect<A, E, Services>): Promise<Exit.Exit<A, E> | typeof lost> {
    const life = this.#life
    if (life === null || life.service === null) return lost
    const fiber = Effect.runForkWith(life.service)(Effect.provideService(request, References.MinimumLogLevel, "None"))
    return new Promise((resolve) => {
      life.calls.set(fiber, () => resolve(lost))
      fiber.addObserver((exit) => {
        life.calls.delete(fiber)
        resolve(life.isDead ? lost : exit)
      })
    })
  }

  /** kill -9: it does nothing that it was about to do, except calls that hosts and the database have got already. */
  kill(): void {
    const life = this.#life
    if (life === null) return
    this.#life = null
    life.isDead = true
    life.wire.cut()
    for (const [fiber, die] of life.calls) {
      fiber.interruptUnsafe()
      // Without waiting for the fiber: work that no interruption ends may wait for an answer that a dead process never gets.
      die()
    }
    const closed = this.#quietly(Scope.close(life.scope, Exit.void))
    this.#ends.push(Promise.race([closed, pause(goneWithinMs)]).finally(() => life.wire.close()))
  }

  /** Its link to the database is cut; it goes on. */
  cutOff(): void {
    this.#life?.wire.cut()
  }

  /** Null: it was killed meanwhile. */
  mend(): void {
    this.#life?.wire.mend()
  }

  /** Until all of its runs have ended, or are cut off for good. */
  async ended(): Promise<void> {
    await Promise.all(this.#ends)
  }
}
