/**
 * What concurrent clients of the HTTP API see is a run of the contract (`test/proofs/linear/contract.ts`), while the service and its database are
 * killed and frozen; and a service with a fault is seen. `npm run test:linear -- --seconds 600 --seed S` goes on for longer.
 */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { skipped, unusable } from "../../support/host/namespace/TestHost.ts"
import { FaultyProxy, type ProxyFault } from "./FaultyProxy.ts"
import { RecordedRun, type RunPlan, summaryText } from "./recordedRun.ts"

const seed = Number(process.env["ATOLL_LINEAR_SEED"] || Date.now() % 1_000_000)

describe.skipIf(skipped(unusable))("the API", () => {
  let service: ServiceProcess
  beforeAll(async () => {
    service = await ServiceProcess.make()
    await service.start()
  })
  afterAll(async () => {
    try {
      await service.deleteSandboxes()
    } finally {
      await service.kill()
      service.killPostgres()
      service.remove()
    }
  })

  const plan: RunPlan = { seed, seconds: 6, clients: 6, sandboxes: 2, callsEach: 60, faultEveryMs: 2_000 }

  it("is linearizable while its service and database are killed", async () => {
    const run = await RecordedRun.of([service], plan)
    console.info(summaryText(run))
    assert.deepStrictEqual(run.refusals, [], `again: npm run test:linear -- --seed ${seed}`)
    assert.strictEqual(run.undecided, 0)
    assert.isAbove(run.kills, 0)
    assert.isAbove(run.clients.calls, 30)
  })

  it.each<ProxyFault>(["staleReads", "earlyAnswers", "lostChanges"])(
    "is seen not to be, behind a proxy with %s",
    async (fault) => {
      const proxy = await FaultyProxy.to(service.origin, fault)
      try {
        const { seed: _, ...rest } = plan
        const run = await RecordedRun.of([service], {
          ...rest,
          seed: seed + 1 + fault.length,
          // It ends with the first Sandbox that is refused.
          seconds: 20,
          callsEach: 30,
          faultEveryMs: null,
          origin: proxy.origin
        })
        console.info(`${proxy.faults} ${fault}: ${summaryText(run)}\n${run.refusals[0]}`)
        assert.isAbove(proxy.faults, 0)
        assert.isAbove(run.refusals.length, 0)
      } finally {
        proxy.close()
      }
    }
  )
})
