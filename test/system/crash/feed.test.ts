/**
 * The account's events, followed over HTTP while processes are stopped and started one after the other, and while the
 * service and its database are killed with -9: a client that resumes after its last event gets each committed
 * transition once, in its actor's order.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { assert } from "vitest"
import { ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { FeedStorm, Follower } from "./FeedStorm.ts"

const settleWithinMs = 60_000

const simulated = { ATOLL_RUNTIME: "simulated", ATOLL_SANDBOXES_PER_ACCOUNT: "10000" }

const assertToldOnce = (told: ReadonlyArray<string>, logs: ReadonlyArray<string>) => {
  const revisions = new Map<string, number>()
  for (const one of told) {
    const [actor, revision] = one.split(" ") as [string, string]
    assert.strictEqual(Number(revision), (revisions.get(actor) ?? 0) + 1, `${one} after ${revisions.get(actor)}`)
    revisions.set(actor, Number(revision))
  }
  assert.deepStrictEqual(told.toSorted(), logs.toSorted())
}

/** @param losses How often `disturb` ends every follower's stream, at least. */
const followed = async (
  members: ReadonlyArray<ServiceProcess>,
  losses: number,
  disturb: (storm: FeedStorm) => Promise<void>
) => {
  try {
    for (const member of members) await member.start()
    const storm = new FeedStorm(members)
    await storm.begin()
    const followers = [new Follower(members, 0), new Follower(members, 150)]
    await Promise.all(followers.map((follower) => follower.begin()))
    await disturb(storm)
    const logs = await storm.logs(settleWithinMs)
    assert.isAbove(logs.length, 20)
    for (const follower of followers) {
      await follower.end(logs.length, settleWithinMs)
      assert.isAtLeast(follower.losses, losses)
      assertToldOnce(follower.told, logs)
    }
  } catch (error) {
    throw new Error(`${String(error)}\n${members.map(({ log }) => log).join("\n")}`, { cause: error })
  } finally {
    for (const member of members) await member.kill()
    members[0]!.killPostgres()
    members[0]!.remove()
  }
}

layer(TestDatabase.bare, { excludeTestServices: true })("a follower of the feed", (it) => {
  it.effect("resumes at another process, when one is drained and when one is killed", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      yield* Effect.promise(async () => {
        const members = await ServiceProcess.cluster(2, { DATABASE_URL: url, ...simulated })
        await followed(members, members.length, async (storm) => {
          for (const [at, member] of members.entries()) {
            await storm.during(async () => {
              await sleep(400)
              await (at === 0 ? member.stop() : member.kill())
              await sleep(200)
              await member.start()
            })
          }
        })
      })
    })
  )

  it.effect("resumes after its last event, when the service and its database are killed", () =>
    Effect.promise(async () => {
      const service = await ServiceProcess.make(simulated)
      await followed([service], 1, async (storm) => {
        await storm.during(async () => {
          await sleep(1000)
          service.killPostgres()
          await service.kill()
        })
        await service.start()
        await storm.during(() => sleep(200))
      })
    })
  )
})
