/**
 * The charges, while the service and its database are killed with -9, and while two processes post concurrently, always
 * agree with the logs.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { assert } from "vitest"
import { ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { MoneyStorm } from "./MoneyStorm.ts"

const settleWithinMs = 90_000
const rounds = Number(process.env["ATOLL_CRASH_MONEY_ROUNDS"] || 4)

/**
 * On a slow machine clients and operator have done little when everything else is done: they go on until there is
 * enough to check.
 */
const untilSeen = async (holds: () => boolean) => {
  for (const until = Date.now() + settleWithinMs; !holds() && Date.now() < until; ) await sleep(50)
}

const simulated = {
  ATOLL_RUNTIME: "simulated",
  ATOLL_CREDIT_GRACE_SECONDS: "1",
  ATOLL_SANDBOXES_PER_ACCOUNT: "10000"
}

const withStorm = async (
  members: ReadonlyArray<ServiceProcess>,
  environment: Readonly<Record<string, string>>,
  test: (storm: MoneyStorm) => Promise<void>
) => {
  const storm = new MoneyStorm(members, environment)
  try {
    for (const member of members) await member.start()
    await storm.begin()
    await test(storm)
    const found = await storm.end(settleWithinMs)
    await storm.checkGrants()
    assert.deepStrictEqual(storm.faults, [])
    assert.isAbove(found.sandboxes, 3)
    assert.isAbove(found.entries, 20)
    assert.isAbove(Number(found.costMicroUsd), 0)
    assert.isAbove(storm.grants.size, 2)
    return found
  } catch (error) {
    const logs = members.map(({ log }) => log).join("\n")
    throw new Error(`${String(error)}\n${storm.faults.join("\n")}\n${logs}`, { cause: error })
  } finally {
    for (const member of members) await member.kill()
    members[0]!.killPostgres()
    members[0]!.remove()
  }
}

layer(TestDatabase.bare, { excludeTestServices: true })("what an account is charged", (it) => {
  it.effect(
    "agrees with the logs, however often the service and Postgres are killed",
    () =>
      Effect.promise(async () => {
        const service = await ServiceProcess.make(simulated)
        await withStorm([service], { ATOLL_DATA_DIR: service.dataDir }, async (storm) => {
          for (let round = 0; round < rounds; round++) {
            await storm.during(async () => {
              await sleep(1000 + Math.random() * 2000)
              if (round % 2 === 1) service.killPostgres()
              await service.kill()
            })
            await service.start()
            await storm.verify()
          }
          await storm.during(async () => {
            await storm.verify()
            await untilSeen(() => storm.refusals > 0 && storm.grants.size > 2)
          })
          // Two processes with separate simulated hosts take each other's Sandboxes for lost: there, credit may outlast
          // the test.
          assert.isAbove(storm.refusals, 0)
        })
      }),
    300_000
  )

  it.effect(
    "agrees with the logs when two processes post concurrently, and one of them is killed",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestDatabase
        yield* Effect.promise(async () => {
          const members = await ServiceProcess.cluster(2, { DATABASE_URL: url, ...simulated })
          await withStorm(members, { DATABASE_URL: url }, async (storm) => {
            await storm.during(async () => {
              for (let round = 0; round < rounds / 2; round++) {
                await sleep(1500)
                await storm.verify()
                const victim = members[round % 2]!
                await victim.kill()
                await sleep(500)
                await victim.start()
              }
              await untilSeen(() => storm.grants.size > 2)
            })
          })
        })
      }),
    300_000
  )
})
