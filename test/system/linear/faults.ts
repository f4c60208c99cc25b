/** What is done to a service under its clients, by chance. */
import { setTimeout as sleep } from "node:timers/promises"
import { processes, type ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import type { HostProcess } from "../../support/fleet/HostProcess.ts"
import { signalPid } from "../../support/signalPid.ts"
import { anyOf, type Random } from "./plan.ts"

export type FaultName =
  | "kill"
  | "killBoth"
  | "killDatabase"
  | "cutConnections"
  | "freeze"
  | "freezeDatabase"
  | "killHost"
  | "freezeHost"

const chances: ReadonlyArray<FaultName> = [
  ...Array<FaultName>(4).fill("kill"),
  "killBoth",
  "killDatabase",
  "cutConnections",
  "cutConnections",
  "freeze",
  "freezeDatabase"
]

/** The database of several services belongs to the test, and is frozen and cut off only. */
const endsDatabase: ReadonlyArray<FaultName> = ["killBoth", "killDatabase"]

/** Of a fleet. Its database is the business of other suites. */
const fleetChances: ReadonlyArray<FaultName> = ["kill", "freeze", "killHost", "killHost", "freezeHost"]

export const anyFault = (random: Random, members: number, hosts: number): FaultName => {
  if (hosts > 0) return anyOf(random, fleetChances)
  return anyOf(random, members === 1 ? chances : chances.filter((name) => !endsDatabase.includes(name)))
}

const freezeMsMax = 2_500
/** Longer at times than its services wait until they call it lost. */
const hostAwayMsMax = 7_000
/** Longer than the service's patience with its database at times. */
const databaseFreezeMsMax = 4_500

/** @param folder Contains the server's data, so its arguments name it. */
const databaseProcesses = (folder: string) => {
  const all = processes()
  const servers = all.filter(({ command }) => command.includes(folder) && /postgres$/.test(command.split(" ")[0]!))
  const pids = new Set(servers.map(({ pid }) => pid))
  return [...servers, ...all.filter(({ parent }) => pids.has(parent))]
}

export interface Struck {
  readonly service: ServiceProcess
  /** Null: its Sandboxes are on the service's own host. */
  readonly host: HostProcess | null
  readonly databaseFolder: string
}

/** Returns once the service runs again. */
export const inflict = async (
  fault: FaultName,
  { service, host, databaseFolder }: Struck,
  random: Random
): Promise<void> => {
  switch (fault) {
    case "kill":
      await service.kill()
      return service.start()
    case "killBoth":
      service.killPostgres()
      await service.kill()
      return service.start()
    case "killDatabase":
      return service.killPostgres()
    case "cutConnections":
      // All connections of the service end, the answers of its last commits with them: a backend's death does that.
      return databaseProcesses(databaseFolder)
        .filter(({ command }) => /wal ?writer/.test(command))
        .forEach(({ pid }) => signalPid(pid, "SIGKILL"))
    case "freeze":
      service.freeze()
      await sleep(random() * freezeMsMax)
      return service.thaw()
    case "freezeDatabase": {
      const frozen = databaseProcesses(databaseFolder)
      for (const { pid } of frozen) signalPid(pid, "SIGSTOP")
      await sleep(random() * databaseFreezeMsMax)
      for (const { pid } of frozen) signalPid(pid, "SIGCONT")
      return
    }
    case "killHost":
      await host?.kill()
      await sleep(random() * hostAwayMsMax)
      return host?.start()
    case "freezeHost":
      host?.freeze()
      await sleep(random() * hostAwayMsMax)
      return host?.thaw()
  }
}
