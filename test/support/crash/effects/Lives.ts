/**
 * The services of one run, one after the other: each starts when the one before has ended. One that was frozen instead is woken later, and from then on
 * two live in one cluster.
 */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { Clock, Context, References, Tracer } from "effect"
import type { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import type { ManualClock } from "../../race/ManualClock.ts"
import { Stillness, turn } from "../../race/Stillness.ts"
import { ActorNetwork } from "./ActorNetwork.ts"
import { CrashLife, type Strike } from "./CrashLife.ts"
import type { Verdict } from "./DatabaseWire.ts"
import type { Effects } from "./Effects.ts"
import type { AskService, HostProgram } from "./HostProgram.ts"
import type { ModelVolumes } from "./ModelVolumes.ts"
import type { Plant } from "./plants.ts"

const firstPort = 7001

export interface LivesOptions {
  readonly effects: Effects
  readonly strike: Strike
  readonly world: SimulatedWorld
  readonly volumes: ModelVolumes
  /** Settings of the scenario, by environment variable. */
  readonly environment: Readonly<Record<string, string>>
  readonly clock: ManualClock
  readonly databaseName: string
  /** For sockets and data. */
  readonly folder: string
  readonly plant: Plant | null
  /** Of a fleet. */
  readonly hosts: () => ReadonlyArray<HostProgram>
}

interface Running {
  readonly life: CrashLife
  readonly stillness: Stillness
}

export class Lives {
  readonly #options: LivesOptions
  readonly #network = new ActorNetwork()
  #serving: Running | null = null
  /** It was frozen; it may have been woken since. */
  #other: Running | null = null
  #begun = 0
  #asked = 0

  constructor(options: LivesOptions) {
    this.#options = options
  }

  /** The one that clients ask. */
  get serving(): CrashLife {
    return this.#serving!.life
  }

  /** Whom the next request goes to: by turns, where two are awake. */
  get next(): CrashLife {
    const other = this.#other?.life
    this.#asked++
    return other === undefined || other.isFrozen || this.#asked % 2 === 0 ? this.serving : other
  }

  /** Its answer to a host; null: none came. */
  readonly askFromHost: AskService = async (request) =>
    this.#serving === null || this.isStruck ? null : this.next.askFromHost(request)

  get hasFrozen(): boolean {
    return this.#other !== null
  }

  /** Clients have no answer from it any more. */
  get isStruck(): boolean {
    return this.serving.isDead || this.serving.isFrozen
  }

  readonly #struck = (life: CrashLife): Verdict => {
    switch (this.#options.strike) {
      case "lose":
        return "cut"
      case "crash":
        life.kill()
        return "crash"
      case "freeze":
        // The second strike.
        if (this.#other !== null) {
          this.wake()
          return "pass"
        }
        life.freeze()
        return "freeze"
    }
  }

  /** Ends the serving one as the run's target does. */
  strike(): void {
    this.#struck(this.serving)
  }

  /** The frozen one goes on; false: none is frozen. */
  wake(): boolean {
    const frozen = this.#other?.life
    if (!frozen?.isFrozen) return false
    frozen.wake()
    return true
  }

  /** It may end while it starts. */
  async start(): Promise<void> {
    do {
      await this.endServing()
      await this.#startOne()
    } while (this.isStruck)
    await this.rest()
  }

  async #startOne(): Promise<void> {
    const { effects, strike, world, volumes, environment, clock, databaseName, folder, plant, hosts } = this.#options
    const port = firstPort + this.#begun++
    const socketFolder = join(folder, `life${this.#begun}`)
    mkdirSync(socketFolder)
    const stillness = new Stillness()
    const { life, started } = CrashLife.begin({
      effects,
      struck: this.#struck,
      world,
      volumes,
      environment,
      database: databaseName,
      plant,
      hosts: hosts(),
      cluster: strike === "freeze" ? { network: this.#network, port } : null,
      socketFolder,
      dataFolder: join(folder, "data"),
      context: Context.empty().pipe(
        Context.add(Clock.Clock, clock),
        Context.add(Tracer.Tracer, stillness.tracer),
        Context.add(References.MinimumLogLevel, "None")
      ) as Context.Context<never>
    })
    this.#serving = { life, stillness }
    let isStarted = false
    let fault: unknown = null
    const done = started.then(
      () => {
        isStarted = true
      },
      (error) => {
        fault = error
      }
    )
    while (!isStarted && !this.isStruck) {
      if (fault !== null) throw fault
      await Promise.race([done, this.rest()])
      // Files and ports are not seen; much of the run's time would pass meanwhile.
      await new Promise((resolve) => setTimeout(resolve, 2))
      if (!isStarted) clock.tick(clock.currentTimeMillisUnsafe() + 50)
    }
  }

  /** A frozen one stays for later. */
  async endServing(): Promise<void> {
    const running = this.#serving
    if (running === null) return
    this.#serving = null
    if (running.life.isFrozen) {
      this.#other = running
      return
    }
    await running.life.bury()
  }

  async endAll(): Promise<void> {
    await Promise.all([this.#serving?.life.bury(), this.#other?.life.bury()])
    this.#serving = null
    this.#other = null
  }

  /** Until nothing happens by itself, or the serving one is struck. */
  async rest(): Promise<void> {
    while (true) {
      if (this.#serving !== null && this.isStruck) return
      const awake = [this.#serving, this.#other].filter((one) => one !== null && !one.life.isFrozen && !one.life.isDead)
      let begun = -1
      // What one sends may wake another.
      while (begun !== sum(awake, ({ stillness }) => stillness.begun)) {
        begun = sum(awake, ({ stillness }) => stillness.begun)
        for (const one of awake) await stillOrFrozen(one!)
      }
      if (sum(awake, ({ life }) => life.openStatements) === 0) return
      await turn()
    }
  }
}

/** A frozen one has statements whose answers it does not get. */
const stillOrFrozen = async ({ life, stillness }: Running): Promise<void> => {
  const reached = stillness.reached()
  reached.catch(() => {})
  await Promise.race([reached, life.frozen])
}

const sum = (all: ReadonlyArray<Running | null>, of: (one: Running) => number): number =>
  all.reduce((before, one) => before + (one === null ? 0 : of(one)), 0)
