/** Processes that are stopped and started one after the other under clients that keep their connections open. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { probe } from "../../../src/host/namespace/probe.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { Members } from "./Members.ts"
import { WorkingClients } from "./WorkingClients.ts"

/** The drain, the last transitions, the connections to the database; on a busy machine. */
const stopWithinMs = 25_000
const rounds = 2

const { ok } = await Effect.runPromise(probe)

describe.runIf(ok)("rolling restarts", () => {
  it.live(
    "fail no request of a client that retries once, do nothing twice, and each stop is short",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestDatabase
        yield* Effect.promise(async () => {
          const members = await Members.start(2, url)
          const clients = new WorkingClients(members, { tries: 2, pauseMs: 0 })
          try {
            await members.makeSandboxes(3)
            clients.start(4, 1)
            const stops: Array<number> = []
            for (let round = 0; round < rounds; round++) {
              for (const member of members.all) {
                const began = performance.now()
                await member.stop()
                stops.push(performance.now() - began)
                await member.start()
              }
            }
            await clients.stop()
            assert.isAbove(await clients.check(), 10)
            assert.isAbove(clients.executed.size, 2)
            assert.deepStrictEqual(clients.faults, [])
            for (const took of stops) assert.isBelow(took, stopWithinMs)
          } finally {
            await clients.stop()
            await members.end()
          }
        })
      }).pipe(Effect.provide(TestDatabase.bare)),
    240_000
  )
})
