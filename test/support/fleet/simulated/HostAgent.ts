/** The program of a simulated host towards the services: it joins any of them, and sends heartbeats. */
import { setTimeout as pause } from "node:timers/promises"
import { Effect, Exit } from "effect"
import { HostJoins } from "../../../../src/fleet/HostJoins.ts"
import type { Dice } from "./Dice.ts"
import type { SimulatedHost } from "./SimulatedHost.ts"
import { lost, type SimulatedService } from "./SimulatedService.ts"

const againMs = 100

export class HostAgent {
  readonly #host: SimulatedHost
  readonly #services: ReadonlyArray<SimulatedService>
  readonly #dice: Dice
  /** The process of the host that has joined. */
  #joined: string | null = null
  #installation: string | null = null
  #beatEveryMs = againMs
  #isOver = false

  constructor(host: SimulatedHost, services: ReadonlyArray<SimulatedService>, dice: Dice) {
    this.#host = host
    this.#services = services
    this.#dice = dice
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      const isHeard = this.#host.isReachable && (await this.#tell())
      await pause(isHeard ? this.#beatEveryMs : againMs)
    }
  }

  stop(): void {
    this.#isOver = true
  }

  async #tell(): Promise<boolean> {
    const up = this.#services.filter(({ isUp }) => isUp)
    if (up.length === 0) return false
    const { id: hostId, boot, capacity } = this.#host
    const service = this.#dice.one(up)
    if (this.#joined !== boot) {
      const description = {
        hostId,
        label: hostId,
        address: { host: hostId, port: 1 },
        installation: this.#installation,
        boot,
        version: "0",
        driver: "simulated" as const,
        kind: "namespace" as const,
        capacity,
        suspends: false,
        takesSnapshots: true,
        restoresSnapshots: true,
        runsImages: true,
        buildsImages: true,
        movesImages: true,
        networkFiltered: false,
        networkRefused: null
      }
      const exit = await service.call(Effect.flatMap(HostJoins, (joins) => joins.join(description)))
      if (exit === lost || !Exit.isSuccess(exit)) return false
      this.#joined = boot
      this.#installation = exit.value.installation
      this.#beatEveryMs = exit.value.beatEveryMs
      return true
    }
    const beat = { hostId, boot, capacity, networkRefused: null }
    const exit = await service.call(Effect.flatMap(HostJoins, (joins) => joins.beat(beat)))
    if (exit !== lost && Exit.isFailure(exit)) this.#joined = null
    return exit !== lost && Exit.isSuccess(exit)
  }
}
