/**
 * What concurrent clients of the HTTP API see is a run of the contract (`test/proofs/linear/contract/contract.ts`), while the service and its database are
 * killed and frozen; and a service with a fault is seen. `npm run test:linear -- --seconds 600 --seed S` goes on for longer.
 */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { DoesType } from "../../proofs/linear/calls.ts"
import { ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { networkUnusable, skipped, unusable } from "../../support/host/namespace/TestHost.ts"
import { FaultyProxy } from "./FaultyProxy.ts"
import type { ProxyFault } from "./proxyFaults.ts"
import { RecordedRun, type RunPlan, summaryText } from "./recordedRun.ts"

const hasNetwork = networkUnusable === null
const LOG_SHOWN_CHARS = 60_000
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

  const plan: RunPlan = { seed, seconds: 6, clients: 6, sandboxes: 2, callsEach: 60, hasNetwork, faultEveryMs: 2_000 }

  it("is linearizable while its service and database are killed", async () => {
    const run = await RecordedRun.of([service], plan)
    console.info(summaryText(run))
    if (run.refusals.length > 0) console.error(`The service said:\n${service.log.slice(-LOG_SHOWN_CHARS)}`)
    assert.deepStrictEqual(run.refusals, [], `again: npm run test:linear -- --seed ${seed}`)
    assert.strictEqual(run.undecided, 0)
    assert.isAbove(run.kills, 0)
    assert.isAbove(run.clients.calls, 10)
  })

  /** The calls that meet each fault. */
  const meeting: Readonly<Record<ProxyFault, ReadonlyArray<DoesType>>> = {
    staleReads: ["get", "patch"],
    staleSnapshots: ["snap", "snapGet", "snapGet", "snapPatch"],
    earlyAnswers: ["write", "read"],
    lostChanges: ["get", "patch"],
    mixedArchives: ["write", "archived"],
    latePreviews: ["open", "open", "visit", "visit", "visit", "close"],
    skippedEvents: ["patch", "patch", "told"],
    cutOutput: ["execute"]
  }
  const shown = (Object.keys(meeting) as ReadonlyArray<ProxyFault>).filter(
    (fault) => hasNetwork || fault !== "latePreviews"
  )

  it.each(shown)("is seen not to be, behind a proxy with %s", async (fault) => {
    const proxy = await FaultyProxy.to(service.origin, fault)
    try {
      const run = await RecordedRun.of([service], {
        ...plan,
        seed: seed + 1 + shown.indexOf(fault),
        // It ends with the first Sandbox that is refused.
        seconds: 40,
        sandboxes: 1,
        callsEach: 30,
        more: meeting[fault],
        faultEveryMs: null,
        origin: proxy.origin
      })
      console.info(`${proxy.faults} ${fault}: ${summaryText(run)}\n${run.refusals[0]}`)
      assert.isAbove(proxy.faults, 0)
      assert.isAbove(run.refusals.length, 0)
    } finally {
      proxy.close()
    }
  })
})
