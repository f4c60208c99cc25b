/**
 * Output under kills. `npm run test:crash -- --operations 1000 --seed S` runs more of it; the exact instant of each
 * kill depends on the machine.
 * @source contract-details.md "`completed` is committed only after all its output is stored"
 */
import { Effect } from "effect"
import { assert, it } from "vitest"
import { probe } from "../../../src/host/namespace/probe.ts"
import { OutputStorm, waves } from "../../support/crash/OutputStorm.ts"
import { ServiceProcess } from "../../support/crash/ServiceProcess.ts"

const operations = Number(process.env["ATOLL_CRASH_OPERATIONS"] || 48)
const perWave = 12
const seed = Number(process.env["ATOLL_CRASH_SEED"] || Math.floor(Math.random() * 2 ** 31))

it("every byte of a completed operation's output is stored, however often the database and the service are killed", {
  timeout: 120_000 + operations * 3000
}, async (context) => {
  const found = await Effect.runPromise(probe)
  if (!found.ok) {
    console.warn(`Skipped: ${found.reason}`)
    return context.skip(found.reason)
  }
  const service = await ServiceProcess.make()
  const storm = new OutputStorm(service)
  try {
    await service.start()
    await storm.begin()
    for (const wave of waves(seed, operations, perWave)) await storm.run(wave)
    await storm.end()
    await service.stop()
    console.info(`${storm.completed} operations completed under kills: ${JSON.stringify(storm.kills)}`)
    assert.deepStrictEqual([...storm.faults, ...service.leftovers], [])
    assert.isAtLeast(storm.completed, operations)
  } catch (error) {
    throw new Error(
      `${String(error)}\nagain: npm run test:crash -- --operations ${operations} --seed ${seed}\n${storm.faults.join("\n")}\n${service.log}`
    )
  } finally {
    await service.kill()
    service.killPostgres()
    service.remove()
  }
})
