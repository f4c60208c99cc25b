/** A host of a fleet as a separate process, on its own data folder and at its own address. */

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { childrenOf } from "../../../src/host/linux/ProcessIdentity.ts"
import { isSpareName, sandboxIdsIn } from "../../../src/host/linux/SandboxRecords.ts"
import { HostLayout } from "../../../src/host/namespace/HostLayout.ts"
import { markedProcesses } from "../../../src/host/namespace/markedProcesses.ts"
import type { Place } from "../crash/ServiceProcess.ts"
import { Program } from "../Program.ts"

export const main = "src/main.ts"
const agentProgram = "/opt/atoll/node\0"

const descendantsOf = (pid: number): ReadonlyArray<number> =>
  childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])

export class HostProcess extends Program {
  readonly name: string
  readonly dataDir: string
  readonly #place: Place
  readonly #environment: Readonly<Record<string, string>>
  #isItself = true

  constructor(name: string, place: Place, dataDir: string, environment: Readonly<Record<string, string>>) {
    super()
    this.name = name
    this.dataDir = dataDir
    this.#place = place
    this.#environment = environment
  }

  /** Returns immediately: the fleet says when it is ready. `source`: another program instead of Atoll's own. */
  start(source = main): void {
    this.#isItself = source === main
    this.spawn([source], { ...this.#environment, ATOLL_DATA_DIR: this.dataDir }, this.#place.enter)
  }

  get host() {
    return this.#place.address
  }

  /** It runs Atoll's own program. */
  get isItself() {
    return this.#isItself
  }

  /** As its data folder says, once it was started. */
  get id() {
    return readFileSync(join(this.dataDir, "host"), "utf8").trim()
  }

  /** Crashes a Sandbox here: kill -9 of the first process inside. */
  crash(sandboxId: string): void {
    for (const found of this.#marked()) {
      if (found.sandboxId !== sandboxId) continue
      for (const inside of childrenOf(found.pid)) process.kill(inside, "SIGKILL")
    }
  }

  /** The agent processes of a Sandbox on this machine. */
  agentsOf(sandboxId: string): ReadonlyArray<number> {
    return this.#marked()
      .filter((found) => found.sandboxId === sandboxId)
      .flatMap(({ pid }) => descendantsOf(pid))
      .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(agentProgram))
  }

  /** The processes that its driver started for Sandboxes which have an owner. */
  #marked() {
    const layout = HostLayout.at(this.dataDir)
    const owners = new Map(layout.sandboxIds().map((sandboxId) => [layout.nameOf(sandboxId), sandboxId]))
    return markedProcesses(layout.instance).flatMap(({ name, ...found }) => {
      const sandboxId = owners.get(name) ?? (isSpareName(name) ? null : name)
      return sandboxId === null ? [] : [{ ...found, sandboxId }]
    })
  }

  /** Sandboxes with anything stored here: a volume, or its leftovers. */
  get kept(): ReadonlyArray<string> {
    return sandboxIdsIn(join(this.dataDir, "runtime", "namespace"))
  }

  /**
   * The Sandboxes that really run here by the marks of their processes, regardless of reports: each Sandbox and
   * generation once.
   */
  get alive(): ReadonlyArray<{ readonly sandboxId: string; readonly generation: number }> {
    const found = new Map<string, { readonly sandboxId: string; readonly generation: number }>()
    for (const { sandboxId, generation } of this.#marked()) {
      found.set(`${sandboxId}#${generation}`, { sandboxId, generation })
    }
    return [...found.values()]
  }
}
