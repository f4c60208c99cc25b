/** Sandboxes that wait in the boot queue keep the whole time-out of a boot. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schedule } from "effect"
import { TestClock } from "effect/testing"
import { type SimulatedCall, SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { bootInTurn } from "../../../src/sandbox/bootInTurn.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, untilStatus } from "../../support/TestSandboxes.ts"

describe("a queued boot", () => {
  /** A boot of 60 s whose turn and end come at these instants (ms), and all deadlines that were reported meanwhile. */
  const told = Effect.fnUntraced(function* (turnAt: number, upAt: number) {
    const untils: Array<number> = []
    const boot = (turn: () => void) =>
      Effect.sleep(turnAt).pipe(Effect.andThen(Effect.sync(turn)), Effect.andThen(Effect.sleep(upAt - turnAt)))
    const booting = yield* Effect.forkChild(
      bootInTurn(boot, 60_000, (until) => Effect.sync(() => void untils.push(until)))
    )
    yield* TestClock.adjust(upAt)
    yield* Fiber.join(booting)
    return untils
  })

  it.effect("has its whole time-out from its turn on, and extends its deadline while it waits", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* told(100_000, 150_000), [90_000, 120_000, 150_000, 160_000])
    })
  )

  it.effect("reports neither a short wait nor none, and nothing once it is up", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* told(0, 50_000), [])
      assert.deepStrictEqual(yield* told(5999, 200_000), [])
    })
  )

  it.effect("fails with its own error, before and after its turn", () =>
    Effect.gen(function* () {
      const waits = () => Effect.void
      assert.strictEqual(yield* Effect.flip(bootInTurn(() => Effect.fail("full"), 60_000, waits)), "full")
      const late = (turn: () => void) => Effect.andThen(Effect.sync(turn), Effect.fail("broken"))
      assert.strictEqual(yield* Effect.flip(bootInTurn(late, 60_000, waits)), "broken")
    })
  )
})

layer(TestDatabase.layer, { excludeTestServices: true })("a Sandbox with a queued boot", (it) => {
  /** A wait is reported after an eighth of it. */
  const bootTimeoutMs = 10_000

  it.effect("has its deadline moved, and runs", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const [itsTurn, mayBoot] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const gates: Partial<Record<SimulatedCall, Deferred.Deferred<void>>> = { turn: itsTurn, provision: mayBoot }
      world.intercept = (call) => {
        const gate = gates[call]
        return gate === undefined ? Effect.void : Deferred.await(gate)
      }
      yield* Effect.gen(function* () {
        const account = yield* newAccount
        const { id } = (yield* createIn(account)).sandbox
        const sandboxes = yield* Sandboxes
        yield* Effect.sleep(bootTimeoutMs / 8)
        const turnAt = Date.now()
        yield* Deferred.succeed(itsTurn, undefined)
        const waits = sandboxes
          .transitions(account.accountId, id, { limit: 1000, cursor: null })
          .pipe(Effect.map(({ transitions }) => transitions.find(({ event }) => event["type"] === "BOOT_WAITS")))
        const told = yield* Effect.repeat(waits, {
          until: (transition) => transition !== undefined,
          schedule: Schedule.spaced(20)
        })
        assert.isAtLeast(told!.event["until"] as number, turnAt + bootTimeoutMs)
        yield* Deferred.succeed(mayBoot, undefined)
        yield* untilStatus(account.accountId, id, "running")
      }).pipe(Effect.provide(testAtoll(world, { ATOLL_BOOT_TIMEOUT_MS: String(bootTimeoutMs) })))
    })
  )
})
