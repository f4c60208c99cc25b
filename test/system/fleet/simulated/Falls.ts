/** Makes hosts and services of a simulated fleet fail, and return, until it is stopped. */
import { setTimeout as pause } from "node:timers/promises"
import type { Dice } from "../../../support/fleet/simulated/Dice.ts"
import type { SimulatedHost } from "../../../support/fleet/simulated/SimulatedHost.ts"
import type { SimulatedService } from "../../../support/fleet/simulated/SimulatedService.ts"

export interface FallsOptions {
  readonly dice: Dice
  readonly services: ReadonlyArray<SimulatedService>
  readonly hosts: ReadonlyArray<SimulatedHost>
  /** The longest absence: longer than it takes to be lost. */
  readonly awayMostMs: number
  /** Between the beginnings of two. */
  readonly everyMostMs: number
}

/**
 * A host: its links, its power, its process. A Sandbox: its machine. A service: its process, its link to the database.
 */
type Fall = "ways" | "power" | "process" | "machine" | "kill" | "cutOff"

/** The least share of hosts that are left alone. */
const standing = 0.7

export class Falls {
  /** How often each happened. */
  readonly counts = new Map<string, number>()
  readonly #options: FallsOptions
  readonly #fallen = new Set<SimulatedHost | SimulatedService>()
  readonly #returns = new Set<Promise<void>>()
  #isOver = false

  constructor(options: FallsOptions) {
    this.#options = options
  }

  async run(): Promise<void> {
    const { dice, everyMostMs, awayMostMs } = this.#options
    // In every run some are lost.
    const longest: Array<Fall> = ["ways", "power"]
    while (!this.#isOver) {
      const first = longest.shift()
      const fall = first ?? dice.of({ ways: 4, power: 3, process: 2, machine: 4, kill: 1, cutOff: 1 })
      const returned = this.#fall(fall, dice.fork(), dice.between(first === undefined ? 1 : awayMostMs, awayMostMs))
      if (returned !== null) {
        this.counts.set(fall, (this.counts.get(fall) ?? 0) + 1)
        this.#returns.add(returned)
        void returned.finally(() => this.#returns.delete(returned))
      }
      await pause(dice.between(1, everyMostMs))
    }
  }

  /** Until everything that failed is back. */
  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#returns)
  }

  /** Null: nothing may fail so now. */
  #fall(fall: Fall, dice: Dice, awayMs: number): Promise<void> | null {
    const { hosts, services } = this.#options
    const standingHosts = hosts.filter((host) => !this.#fallen.has(host))
    const standingServices = services.filter((service) => !this.#fallen.has(service))
    switch (fall) {
      case "machine": {
        const { world } = dice.one(hosts)
        const alive = [...world.machines.keys()]
        if (alive.length === 0) return null
        world.crash(dice.one(alive))
        return Promise.resolve()
      }
      case "kill":
      case "cutOff":
        if (standingServices.length < 2) return null
        return this.#away(dice.one(standingServices), (service) =>
          fall === "kill" ? killed(service, awayMs) : cutOff(service, awayMs)
        )
      default:
        if (standingHosts.length <= standing * hosts.length) return null
        return this.#away(dice.one(standingHosts), async (host) => {
          if (fall === "ways") host.cutWays()
          else if (fall === "power") host.cutPower()
          else host.restartProcess()
          await pause(fall === "process" ? awayMs / 10 : awayMs)
          host.mendWays()
        })
    }
  }

  async #away<A extends SimulatedHost | SimulatedService>(one: A, falls: (one: A) => Promise<void>): Promise<void> {
    this.#fallen.add(one)
    await falls(one)
    this.#fallen.delete(one)
  }
}

const killed = async (service: SimulatedService, awayMs: number): Promise<void> => {
  service.kill()
  await pause(awayMs)
  await service.start()
}

const cutOff = async (service: SimulatedService, awayMs: number): Promise<void> => {
  service.cutOff()
  await pause(awayMs)
  service.mend()
}
