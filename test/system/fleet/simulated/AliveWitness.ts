/**
 * Checks at every instant at which a machine or a volume comes or goes in any world of a fleet: a Sandbox is alive at
 * most once, the machines of a host fit into it, and only the newest generation of a Sandbox answers.
 */
import type { SimulatedHost } from "../../../support/fleet/simulated/SimulatedHost.ts"

interface Used {
  vcpus: number
  memoryBytes: number
  diskBytes: number
}

export class AliveWitness {
  readonly faults: Array<string> = []
  /** Machines that started, over all worlds. */
  boots = 0
  /** The most that were alive concurrently. */
  aliveMost = 0
  readonly #homes = new Map<string, string>()
  readonly #volumes = new Map<string, string>()
  readonly #newest = new Map<string, number>()
  readonly #volumeBytes: number

  /** @param volumeBytes Of each. */
  constructor(volumeBytes: number) {
    this.#volumeBytes = volumeBytes
  }

  #fault(what: string): void {
    this.faults.push(what)
  }

  /** Before anything is on it. */
  watch(host: SimulatedHost): void {
    const { machines, volumes } = host.world
    const used: Used = { vcpus: 0, memoryBytes: 0, diskBytes: 0 }
    const take = (what: keyof Used, amount: number) => {
      used[what] += amount
      if (used[what] > host.capacity[what])
        this.#fault(`${host.id} carries ${used[what]} ${what} of ${host.capacity[what]}`)
    }
    const set = machines.set.bind(machines)
    machines.set = (id, machine) => {
      const { generation, vcpus, memoryBytes } = machine.spec
      if (host.canaries.has(id)) return set(id, machine)
      const home = this.#homes.get(id)
      if (home !== undefined) this.#fault(`${id} is alive on ${home}, and came to be on ${host.id}`)
      this.#homes.set(id, host.id)
      this.#newest.set(id, Math.max(generation, this.#newest.get(id) ?? 0))
      this.boots++
      this.aliveMost = Math.max(this.aliveMost, this.#homes.size)
      take("vcpus", vcpus)
      take("memoryBytes", memoryBytes)
      if (!this.#volumes.has(id)) this.#fault(`${id} is alive on ${host.id} without a volume`)
      return set(id, machine)
    }
    const end = machines.delete.bind(machines)
    machines.delete = (id) => {
      const machine = machines.get(id)
      if (machine !== undefined && !host.canaries.has(id)) {
        this.#homes.delete(id)
        used.vcpus -= machine.spec.vcpus
        used.memoryBytes -= machine.spec.memoryBytes
      }
      return end(id)
    }
    const add = volumes.add.bind(volumes)
    volumes.add = (id) => {
      if (volumes.has(id) || host.canaries.has(id)) return add(id)
      const home = this.#volumes.get(id)
      if (home !== undefined) this.#fault(`${id} has a volume on ${home}, and got one on ${host.id}`)
      this.#volumes.set(id, host.id)
      take("diskBytes", this.#volumeBytes)
      return add(id)
    }
    const remove = volumes.delete.bind(volumes)
    volumes.delete = (id) => {
      if (volumes.has(id) && !host.canaries.has(id)) {
        this.#volumes.delete(id)
        used.diskBytes -= this.#volumeBytes
      }
      return remove(id)
    }
  }

  /** A present guest of that generation gets a request. */
  asked(sandboxId: string, generation: number): void {
    const newest = this.#newest.get(sandboxId) ?? 0
    if (generation < newest) this.#fault(`generation ${generation} of ${sandboxId} answers after ${newest} had booted`)
  }
}
