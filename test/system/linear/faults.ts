/** What is done to a service under its clients, by chance. */
import { setTimeout as sleep } from "node:timers/promises"
import { processes, type ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { anyOf, type Random } from "./plan.ts"

export const faultNames = ["kill", "killBoth", "killDatabase", "cutConnections", "freeze", "freezeDatabase"] as const
export type FaultName = (typeof faultNames)[number]

const chances: ReadonlyArray<FaultName> = [
  ...Array<FaultName>(4).fill("kill"),
  "killBoth",
  "killDatabase",
  "cutConnections",
  "cutConnections",
  "freeze",
  "freezeDatabase"
]

export const anyFault = (random: Random): FaultName => anyOf(random, chances)

const freezeMsMax = 2_500
/** Longer than the service's patience with its database at times. */
const databaseFreezeMsMax = 4_500

const databaseProcesses = ({ dataDir }: ServiceProcess) => {
  const all = processes()
  const servers = all.filter(({ command }) => command.includes(dataDir) && /postgres$/.test(command.split(" ")[0]!))
  const pids = new Set(servers.map(({ pid }) => pid))
  return [...servers, ...all.filter(({ parent }) => pids.has(parent))]
}

const signal = (pid: number, name: NodeJS.Signals) => {
  try {
    process.kill(pid, name)
  } catch {
    // It ended meanwhile.
  }
}

/** Returns once the service runs again. */
export const inflict = async (fault: FaultName, service: ServiceProcess, random: Random): Promise<void> => {
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
      return databaseProcesses(service)
        .filter(({ command }) => /wal ?writer/.test(command))
        .forEach(({ pid }) => signal(pid, "SIGKILL"))
    case "freeze":
      service.freeze()
      await sleep(random() * freezeMsMax)
      return service.thaw()
    case "freezeDatabase": {
      const frozen = databaseProcesses(service)
      for (const { pid } of frozen) signal(pid, "SIGSTOP")
      await sleep(random() * databaseFreezeMsMax)
      for (const { pid } of frozen) signal(pid, "SIGCONT")
    }
  }
}
