/** A host of a run with a fleet, with its machines and their volumes. Its program joins the services that it reaches, and sends them heartbeats. */
import { Clock, Effect, Exit, type Fiber } from "effect"
import { HostJoins } from "../../../../src/fleet/HostJoins.ts"
import type { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import type { Runtime } from "../../../../src/runtime/Runtime.ts"
import { RuntimeUnavailable } from "../../../../src/runtime/Runtime.ts"
import { ModelVolumes } from "./ModelVolumes.ts"

/** Its answer; null: none came. */
export type AskService = <A, E>(request: Effect.Effect<A, E, HostJoins>) => Promise<Exit.Exit<A, E> | null>

/** @param place From 1 on. */
export const hostIdOf = (place: number): string => `host_00000000000000000000000${place}`
const capacity = { vcpus: 8, memoryBytes: 2 ** 36, diskBytes: 2 ** 40, parallelStarts: 4 }
const againMs = 500

/** What the fleet boots on a host to see that it can. */
const isCanary = ({ memoryBytes, volumeBytes }: { readonly memoryBytes: number; readonly volumeBytes: number }) =>
  memoryBytes === 256 * 1024 ** 2 && volumeBytes === 64 * 1024 ** 2

export class HostProgram {
  readonly id: string
  readonly volumes = new ModelVolumes()
  readonly #world: SimulatedWorld
  readonly #ask: AskService
  readonly #canaries = new Set<string>()
  #fiber: Fiber.Fiber<unknown> | null = null
  #boots = 0
  #isUp = false
  #joined: string | null = null
  #installation: string | null = null
  #beatEveryMs = againMs

  constructor(id: string, world: SimulatedWorld, clock: Clock.Clock, ask: AskService) {
    this.id = id
    this.#world = world
    this.#ask = ask
    world.intercept = () =>
      this.#isUp ? Effect.void : Effect.fail(new RuntimeUnavailable({ message: "The host has no power." }))
    const live = Effect.promise(() => this.#tell()).pipe(
      Effect.flatMap((isHeard) => Effect.sleep(isHeard ? this.#beatEveryMs : againMs)),
      Effect.forever
    )
    this.#fiber = Effect.runFork(Effect.provideService(live, Clock.Clock, clock))
  }

  get world(): SimulatedWorld {
    return this.#world
  }

  get isUp(): boolean {
    return this.#isUp
  }

  start(): void {
    this.#isUp = true
    this.#boots++
  }

  cutPower(): void {
    this.#isUp = false
    this.#world.cutPower()
  }

  /** The machine is thrown away, with all that it had. */
  scrap(): void {
    this.cutPower()
    for (const all of [this.#world.volumes, this.#world.snapshots, this.#world.imported, this.#world.origins])
      all.clear()
    this.volumes.clear()
  }

  end(): void {
    this.#fiber?.interruptUnsafe()
  }

  /** The host's own driver, which notes what is a canary. */
  noting(runtime: Runtime["Service"]): Runtime["Service"] {
    return {
      ...runtime,
      provision: (spec, turn) =>
        Effect.suspend(() => {
          if (isCanary(spec)) this.#canaries.add(spec.sandboxId)
          return runtime.provision(spec, turn)
        })
    }
  }

  /** Without canaries, which no row knows. They must be gone in the end: `endOf` lists the whole world. */
  get sandboxes(): Pick<SimulatedWorld, "machines" | "volumes" | "snapshots" | "imported"> {
    const [world, canaries] = [this.#world, this.#canaries]
    return {
      get machines() {
        return new Map([...world.machines].filter(([id]) => !canaries.has(id)))
      },
      get volumes() {
        return new Set([...world.volumes].filter((id) => !canaries.has(id)))
      },
      snapshots: world.snapshots,
      imported: world.imported
    }
  }

  async #tell(): Promise<boolean> {
    if (!this.#isUp) return false
    const boot = `boot ${this.#boots}`
    if (this.#joined === boot) {
      const beat = { hostId: this.id, boot, capacity, networkRefused: null }
      const exit = await this.#ask(Effect.flatMap(HostJoins, (joins) => joins.beat(beat)))
      if (exit !== null && Exit.isFailure(exit)) this.#joined = null
      return exit !== null && Exit.isSuccess(exit)
    }
    const description = {
      hostId: this.id,
      label: "the host",
      address: { host: this.id, port: 1 },
      installation: this.#installation,
      boot,
      version: "0",
      driver: "simulated" as const,
      kind: "namespace" as const,
      capacity,
      suspends: true,
      takesSnapshots: true,
      restoresSnapshots: true,
      runsImages: true,
      buildsImages: true,
      networkFiltered: false,
      networkRefused: null
    }
    const exit = await this.#ask(Effect.flatMap(HostJoins, (joins) => joins.join(description)))
    if (exit === null || Exit.isFailure(exit)) return false
    this.#joined = boot
    this.#installation = exit.value.installation
    this.#beatEveryMs = exit.value.beatEveryMs
    return true
  }
}
