/**
 * 200 idle Sandboxes on the namespace runtime: the service's memory for each beyond the first, an agent's memory (proportional set
 * size: shared pages count once), and the CPU that all of it takes while nothing happens.
 */
import { readdir, readFile } from "node:fs/promises"
import { BenchService, quantile } from "./BenchService.ts"

const count = Number(process.env["BENCH_SANDBOXES"] ?? 200)
const idleSeconds = 20
const ticksPerSecond = 100

interface ProcessUse {
  readonly pssBytes: number
  readonly cpuSeconds: number
}

/** The agents: every process whose command line names the agent's file and that is node, not its launcher. */
const agents = async (): Promise<ReadonlyArray<ProcessUse>> => {
  const found: Array<ProcessUse> = []
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue
    try {
      const [program] = (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0")
      const line = await readFile(`/proc/${pid}/cmdline`, "utf8")
      if (!line.includes("/opt/atoll/agent") || program?.includes("bwrap")) continue
      const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8")
      const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]!.split(" ")
      found.push({
        pssBytes: Number(/\nPss:\s+(\d+) kB/.exec(rollup)![1]) * 1024,
        cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
      })
    } catch {
      // It ended meanwhile.
    }
  }
  return found
}

const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)
const settle = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))

await BenchService.use(
  {
    ATOLL_RUNTIME: "namespace",
    ATOLL_SANDBOXES_PER_ACCOUNT: String(count + 1),
    ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2)
  },
  async (service) => {
    const workspaceId = await service.workspace()
    await service.sandbox(workspaceId)
    await settle(3)
    const first = await service.residentBytes()
    let made = 1
    const maker = async () => {
      while (made < count) {
        made++
        await service.sandbox(workspaceId)
      }
    }
    await Promise.all([maker(), maker(), maker(), maker()])
    // Connections to the agents close by themselves after half a minute.
    await settle(40)
    const all = await service.residentBytes()
    const before = {
      service: await service.cpuSeconds(),
      agents: sum((await agents()).map((agent) => agent.cpuSeconds))
    }
    await new Promise((resolve) => setTimeout(resolve, idleSeconds * 1000))
    const found = await agents()
    const serviceShare = ((await service.cpuSeconds()) - before.service) / idleSeconds
    const agentsShare = (sum(found.map((agent) => agent.cpuSeconds)) - before.agents) / idleSeconds
    console.table([
      {
        Sandboxes: found.length,
        "service MiB each beyond the first": Number(((all - first) / (count - 1) / 1024 ** 2).toFixed(2)),
        "agent PSS MiB p50": Number(
          (
            quantile(
              found.map((agent) => agent.pssBytes),
              0.5
            ) /
            1024 ** 2
          ).toFixed(1)
        ),
        "idle CPU of the service, % of a core": Number((serviceShare * 100).toFixed(2)),
        "idle CPU of all agents, % of a core": Number((agentsShare * 100).toFixed(2))
      }
    ])
  }
)
