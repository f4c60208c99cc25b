/**
 * The standing test of a cluster: one of its real processes after another is killed, frozen and thawed, or stopped,
 * under clients that never pause. ATOLL_CLUSTER_SEED repeats the plan of a run; the exact instant of each fault depends
 * on the machine.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import { describe } from "vitest"
import { probe } from "../../../src/host/namespace/probe.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { Members } from "./Members.ts"
import { WorkingClients } from "./WorkingClients.ts"

const rounds = 4
/** The lease, the others' check, their reading; and a busy machine. */
const takeoverWithinMs = 25_000

interface Fault {
  readonly type: "kill" | "freeze" | "stop"
  readonly member: number
  readonly afterMs: number
  readonly frozenMs: number
}

const fault = fc.record<Fault>({
  type: fc.constantFrom("kill", "freeze", "stop"),
  member: fc.nat(2),
  afterMs: fc.noBias(fc.integer({ min: 0, max: 1500 })),
  // Shorter and longer than a lease.
  frozenMs: fc.noBias(fc.integer({ min: 500, max: 7000 }))
})

const { ok } = await Effect.runPromise(probe)

describe.runIf(ok)("a cluster of three", () => {
  it.live(
    "keeps every acknowledged result and runs no command twice, through every fault of one of its processes",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestDatabase
        const seed = Number(process.env["ATOLL_CLUSTER_SEED"] ?? Math.floor(Math.random() * 2 ** 31))
        const plan = fc.sample(fault, { numRuns: rounds, seed })
        yield* Effect.promise(async () => {
          const members = await Members.start(3, url)
          const clients = new WorkingClients(members, { tries: 60, pauseMs: 100 })
          try {
            await members.makeSandboxes(3)
            clients.start(3)
            let key = 0
            for (const { type, member, afterMs, frozenMs } of plan) {
              await sleep(afterMs)
              const one = members.all[member]!
              const other = members.all[(member + 1) % 3]!
              if (type === "kill") await one.kill()
              else if (type === "stop") await one.stop()
              else one.freeze()
              assert.isBelow(await members.everyActorAnswers(other, `k${key++}`), takeoverWithinMs, type)
              if (type === "freeze") {
                await sleep(frozenMs)
                one.thaw()
              } else await one.start()
              // A process that came back does its part.
              assert.isBelow(await members.everyActorAnswers(one, `k${key++}`), takeoverWithinMs, `after ${type}`)
            }
            await clients.stop()
            assert.isAbove(await clients.check(), 10)
            assert.deepStrictEqual(clients.faults, [])
          } catch (error) {
            throw new Error(`${JSON.stringify({ seed, plan })}\n${clients.faults.join("\n")}`, { cause: error })
          } finally {
            await clients.stop()
            await members.end()
          }
        })
      }).pipe(Effect.provide(TestDatabase.bare)),
    300_000
  )
})
