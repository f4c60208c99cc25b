/**
 * The agent's health and identity, and the Sandbox's resource usage.
 *
 *     GET  /v1/health     -> 200 {protocol, generation, bootId, pid, processTrees}
 *     POST /v1/identity   {generation}  -> 200 {}     once per boot, for a machine made from a template that ran already
 *     GET  /v1/clock      -> 200 {monotonicUs, epochMs}
 *     GET  /v1/telemetry  -> 200 {cpuSeconds, memoryBytes, volumeBytes, networkRxBytes, networkTxBytes}, null where not measured
 */
import { readFileSync, statfsSync } from "node:fs"
import { kernelRandom } from "./kernelRandom.ts"
import { answerJson, Refusal, type Routes, readJson } from "./routes.ts"

/** Both sides compare it. It is incremented by a change of routes or frames that an older side would misread. */
export const PROTOCOL = 1

const CLOCK_TICKS_PER_SECOND = 100

const newBootId = (): string => kernelRandom(16).toString("hex")

export const healthRoutes = (options: {
  readonly generation: number | null
  readonly processTrees: "cgroup" | "mark"
  readonly workspace: string
}): Routes => {
  let generation = options.generation
  let bootId = newBootId()
  return {
    "GET /v1/health": (stream) =>
      answerJson(stream, 200, {
        protocol: PROTOCOL,
        generation,
        bootId,
        pid: process.pid,
        processTrees: options.processTrees
      }),
    "POST /v1/identity": async (stream) => {
      const { generation: given } = await readJson(stream)
      if (typeof given !== "number" || !Number.isSafeInteger(given) || given < 1) {
        throw new Refusal(400, "INVALID_REQUEST", "generation is not valid")
      }
      if (generation !== null && generation !== given) {
        throw new Refusal(409, "IDENTITY_KNOWN", `This is generation ${generation}`)
      }
      if (generation === null) {
        generation = given
        // The template ran in another boot, of which every machine is a copy, so this boot gets a new id.
        bootId = newBootId()
      }
      answerJson(stream, 200, {})
    },
    "GET /v1/clock": (stream) =>
      answerJson(stream, 200, { monotonicUs: Number(process.hrtime.bigint() / 1000n), epochMs: Date.now() }),
    "GET /v1/telemetry": (stream) => answerJson(stream, 200, telemetry(options.workspace))
  }
}

const telemetry = (workspace: string) => ({
  cpuSeconds: measured(cpuSeconds),
  memoryBytes: measured(memoryBytes),
  volumeBytes: measured(() => {
    const { blocks, bfree, bsize } = statfsSync(workspace)
    return (blocks - bfree) * bsize
  }),
  networkRxBytes: measured(() => networkBytes(0)),
  networkTxBytes: measured(() => networkBytes(8))
})

const measured = (read: () => number): number | null => {
  try {
    const value = read()
    return Number.isFinite(value) ? value : null
  } catch {
    return null
  }
}

/** Busy time of the whole machine: all columns except idle and iowait. */
const cpuSeconds = (): number => {
  const [user, nice, system, , , irq, softirq] = readFileSync("/proc/stat", "latin1")
    .split("\n", 1)[0]!
    .split(/\s+/)
    .slice(1)
    .map(Number) as [number, number, number, number, number, number, number]
  return (user + nice + system + irq + softirq) / CLOCK_TICKS_PER_SECOND
}

const memoryBytes = (): number => {
  const text = readFileSync("/proc/meminfo", "latin1")
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]) * 1024
  return field("MemTotal") - field("MemAvailable")
}

/** Column 0 is received, 8 is sent. Sums all interfaces except loopback. */
const networkBytes = (column: 0 | 8): number =>
  readFileSync("/proc/self/net/dev", "latin1")
    .split("\n")
    .slice(2)
    .map((line) => line.trim().split(/[:\s]+/))
    .filter(([name]) => name !== undefined && name !== "" && name !== "lo")
    .reduce((sum, fields) => sum + Number(fields[column + 1]), 0)
