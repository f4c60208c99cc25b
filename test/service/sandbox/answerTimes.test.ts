/** The delay of an answer about a Sandbox that makes no progress: on the real clock, all calls side by side. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Operations } from "../../../src/operation/Operations.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { command, createIn, request, start, untilStatus } from "../../support/TestSandboxes.ts"

/** A busy machine answers later than the bound, never sooner. */
const atLeast = Effect.fnUntraced(function* <A, E, R>(ms: number, call: Effect.Effect<A, E, R>) {
  const began = performance.now()
  const answer = yield* call
  const took = performance.now() - began
  assert.isAtLeast(took, ms - 50)
  assert.isBelow(took, ms + 25_000)
  return answer
})

layer(TestDatabase.layer, { excludeTestServices: true })("an answer about a Sandbox that makes no progress", (it) => {
  it.effect("comes after 20 s for a start and for a command, and after 10 s for a deletion", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const account = yield* newAccount
        const { accountId } = account
        const sandboxes = yield* Sandboxes
        const operations = yield* Operations
        const doomed = (yield* createIn(account, "doomed")).sandbox.id
        yield* untilStatus(accountId, doomed, "running")
        world.intercept = (call) => (call === "provision" || call === "destroy" ? Effect.never : Effect.void)
        const booting = (yield* createIn(account, "booting")).sandbox.id
        const execute = operations.execute(
          accountId,
          booting,
          { ...command, argv: ["echo"], timeoutSeconds: 5 },
          request
        )
        const [started, refused] = yield* Effect.all(
          [
            atLeast(20_000, start(accountId, booting)),
            atLeast(20_000, Effect.flip(execute)),
            atLeast(10_000, sandboxes.remove(accountId, doomed, request))
          ],
          { concurrency: "unbounded" }
        )
        assert.strictEqual(started.status, "pending")
        assert.deepInclude(refused, { _tag: "SANDBOX_UNAVAILABLE", details: { status: "pending" } })
        assert.strictEqual((yield* sandboxes.get(accountId, doomed)).status, "deleting")
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )
})
