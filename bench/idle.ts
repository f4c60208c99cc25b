/**
 * 1,000 idle Sandboxes on the namespace runtime (BENCH_SANDBOXES): the service's memory for each beyond the first, an agent's memory
 * (proportional set size: shared pages count once), and the CPU that all of it takes while nothing happens. Needs 20 GiB of memory.
 */
import { readdir, readFile } from "node:fs/promises"
import { freemem } from "node:os"
import { BenchService, quantile } from "./BenchService.ts"
import { headline } from "./Headline.ts"

const count = Number(process.env["BENCH_SANDBOXES"] ?? 1000)
/** Twice the interval of telemetry. */
const roundSeconds = 30
const rounds = 2
const MiB = 1024 ** 2
const GiB = 1024 ** 3
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
    ATOLL_VOLUME_BYTES: String(32 * MiB)
  },
  async (service) => {
    const workspaceId = await service.workspace()
    await service.sandbox(workspaceId)
    await settle(3)
    const first = await service.residentBytes()
    let made = 1
    const maker = async () => {
      while (made < count) {
        if (freemem() < GiB) throw new Error(`${made} Sandboxes fill the memory of this machine: set BENCH_SANDBOXES`)
        made++
        await service.sandbox(workspaceId)
      }
    }
    await Promise.all([maker(), maker(), maker(), maker()])
    // Connections to the agents close by themselves after half a minute.
    await settle(40)
    const all = await service.residentBytes()
    const each = (all - first) / (count - 1) / MiB
    const idle: Array<{ readonly service: number; readonly agents: number; readonly pss: number }> = []
    for (let round = 0; round < rounds; round++) {
      const before = { service: await service.cpuSeconds(), agents: await agents() }
      await settle(roundSeconds)
      const after = { service: await service.cpuSeconds(), agents: await agents() }
      const cpu = (of: ReadonlyArray<ProcessUse>) => sum(of.map((agent) => agent.cpuSeconds))
      idle.push({
        service: (100 * (after.service - before.service)) / roundSeconds,
        agents: (100 * (cpu(after.agents) - cpu(before.agents))) / roundSeconds,
        pss: quantile(
          after.agents.map((agent) => agent.pssBytes / MiB),
          0.5
        )
      })
    }
    console.table(
      idle.map((round) => ({
        Sandboxes: count,
        "service MiB each beyond the first": Number(each.toFixed(2)),
        "agent PSS MiB p50": Number(round.pss.toFixed(1)),
        "idle CPU of the service, % of a core": Number(round.service.toFixed(2)),
        "idle CPU of all agents, % of a core": Number(round.agents.toFixed(2))
      }))
    )
    const name = `${count.toLocaleString("en-US")} idle Sandboxes`
    const lower = (what: string, unit: string, values: ReadonlyArray<number>, aim: number) =>
      headline({ name: `${name}: ${what}`, unit, better: "lower", values, aim: { value: aim } })
    lower(
      "an agent, PSS",
      "MiB",
      idle.map(({ pss }) => pss),
      12
    )
    lower("the service, each", "MiB", [each], 0.3)
    lower(
      "CPU of the service and all agents",
      "% of a core",
      idle.map(({ service, agents }) => service + agents),
      2
    )
  }
)
