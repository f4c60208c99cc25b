/** A fleet on one machine: services and a host as separate processes, over the loopback with TLS. */
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../test/support/freePort.ts"
import type { BenchPostgres } from "./BenchPostgres.ts"
import { BenchService, newKey } from "./BenchService.ts"

const readyWithinMs = 120_000
const looksEveryMs = 100

export interface BenchFleetOptions {
  readonly services: number
  readonly environment: Readonly<Record<string, string>>
  /** Too many to delete one by one, and simulated. */
  readonly leavesSandboxes?: boolean
}

/** A host that is ready to carry Sandboxes. The returned function ends it, with everything left there. */
const withHost = async <A>(
  database: BenchPostgres,
  environment: Readonly<Record<string, string>>,
  run: () => Promise<A>
): Promise<A> => {
  const folder = await mkdtemp(join(tmpdir(), "atoll-bench-host-"))
  await chmod(folder, 0o711)
  const program = environment["ATOLL_RUNTIME"] === "simulated" ? "bench/SimulatedHostProgram.ts" : "src/main.mjs"
  const child = spawn(process.execPath, [program], {
    cwd: join(import.meta.dirname, ".."),
    env: {
      ...process.env,
      ATOLL_ROLE: "host",
      ATOLL_DATA_DIR: join(folder, "data"),
      ATOLL_PORT: "0",
      ATOLL_FLEET_PORT: "0",
      ATOLL_LOG_LEVEL: "warn",
      ...environment
    },
    stdio: ["ignore", "ignore", "inherit"]
  })
  try {
    const giveUpAt = Date.now() + readyWithinMs
    const ready = "select 1 from actors where kind = 'host' and status = 'ready'"
    while ((await database.rows(ready)).length === 0) {
      if (child.exitCode !== null) throw new Error(`The host ended with ${child.exitCode}`)
      if (Date.now() > giveUpAt) throw new Error(`The host is not ready within ${readyWithinMs} ms`)
      await new Promise((resolve) => setTimeout(resolve, looksEveryMs))
    }
    return await run()
  } finally {
    if (child.exitCode === null) {
      const ended = once(child, "exit")
      child.kill("SIGTERM")
      await ended
    }
    await rm(folder, { recursive: true, force: true })
  }
}

/** The services share an account; any of them may be killed. */
export const withFleet = async <A>(
  database: BenchPostgres,
  { services, environment, leavesSandboxes = false }: BenchFleetOptions,
  run: (services: ReadonlyArray<BenchService>) => Promise<A>
): Promise<A> => {
  const folder = await mkdtemp(join(tmpdir(), "atoll-bench-fleet-"))
  const secretFile = join(folder, "secret")
  await writeFile(secretFile, randomBytes(32).toString("hex"), { mode: 0o600 })
  const common = { ...environment, ATOLL_FLEET_SECRET_FILE: secretFile }
  const fleetPorts = await Promise.all(Array.from({ length: services }, freePort))
  const addresses = fleetPorts.map((port) => `127.0.0.1:${port}`).join(",")
  const key = newKey()
  const more = async (begun: ReadonlyArray<BenchService>): Promise<A> => {
    if (begun.length === services) {
      return withHost(database, { ...common, ATOLL_FLEET_JOIN: addresses }, async () => {
        const answer = await run(begun)
        // While their host runs.
        if (!leavesSandboxes) await begun[0]!.deleteSandboxes()
        return answer
      })
    }
    const own = {
      ...common,
      DATABASE_URL: database.url,
      ATOLL_ROLE: "service",
      ATOLL_FLEET_PORT: String(fleetPorts[begun.length]),
      ATOLL_BOOTSTRAP_API_KEY: key,
      ...(services === 1 ? {} : { ATOLL_CLUSTER_PORT: String(await freePort()) })
    }
    return BenchService.use(own, (service) => more([...begun, service]), { leavesSandboxes: true })
  }
  try {
    return await more([])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
