/**
 * A fleet in one process, with random faults of its hosts and services.
 * npm run test:fleet -- --simulated                 3 services, 20 hosts, 5,000 Sandboxes
 * npm run test:fleet -- --simulated --seed S        a failed run again
 * @source design.md "Hosts"
 */
import { ManagedRuntime } from "effect"
import { afterAll, beforeAll, inject, it } from "vitest"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { FleetRun } from "./FleetRun.ts"

const runtime = ManagedRuntime.make(TestDatabase.layer)
beforeAll(() => runtime.context())
afterAll(() => runtime.dispose())

const asked = (name: string, otherwise: number) => Number(process.env[`ATOLL_SIMULATED_${name}`] || otherwise)

it("a fleet reserves nothing twice, loses nothing and leaves nothing behind, through faults of every member", async () => {
  const context = await runtime.context()
  const { name } = await runtime.runPromise(TestDatabase)
  const seed = asked("SEED", Math.floor(Math.random() * 2 ** 31))
  const isLarge = process.env["ATOLL_SIMULATED_SANDBOXES"] !== undefined
  const options = {
    seed,
    services: 3,
    hosts: asked("HOSTS", 6),
    sandboxes: asked("SANDBOXES", 60),
    room: isLarge ? 0.5 : 1.3,
    churnMs: asked("SECONDS", 4) * 1000,
    leaseMs: asked("LEASE_MS", 1000),
    stuckAfterMs: asked("STUCK_MS", isLarge ? 3_000_000 : 600_000),
    say: (line: string) => isLarge && process.stdout.write(`${line}\n`)
  }
  try {
    await FleetRun.of(options, { name, socketFolder: inject("testPostgresSocketFolder"), context })
  } catch (error) {
    throw new Error(`again: npm run test:fleet -- --simulated --seed ${seed}\n${(error as Error).message}`, {
      cause: error
    })
  }
}, 3_600_000)
