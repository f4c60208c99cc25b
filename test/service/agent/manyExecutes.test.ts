/** Many commands at once in one Sandbox, and an agent that has more to do than time: each is answered as it ends, and what is not known is said. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { RUNNING_MAX } from "../../../src/agent/wire.ts"
import { CommandPermits } from "../../../src/runtime/agentClient/CommandPermits.ts"
import { HostileAgent } from "../../support/agent/hostile/HostileAgent.ts"
import { honestEnd } from "../../support/agent/hostile/lies.ts"
import { commandSpec } from "../../support/runtime/contract/commands.ts"

const scriptedAgent = Effect.acquireRelease(
  Effect.promise(() => HostileAgent.start(0.03)),
  (agent) => Effect.promise(() => agent.end())
)

const spec = commandSpec(["true"], { timeoutMs: 5_000 })

describe("permits of commands", () => {
  it.effect("are so many at a time, and whoever waits longest comes next", () =>
    Effect.gen(function* () {
      const permits = new CommandPermits(2, 10)
      const order: Array<number> = []
      const ends = yield* Effect.forEach([0, 1, 2, 3, 4], () => Deferred.make<void>())
      const fibers = yield* Effect.forEach(ends, (end, index) =>
        Effect.forkChild(
          permits.within(
            Effect.andThen(
              Effect.sync(() => order.push(index)),
              Deferred.await(end)
            )
          ),
          { startImmediately: true }
        )
      )
      assert.deepStrictEqual(order, [0, 1])
      // One that waits no longer leaves the line; one that is interrupted in its place gives it on.
      yield* Fiber.interrupt(fibers[2]!)
      yield* Fiber.interrupt(fibers[0]!)
      yield* Effect.yieldNow
      assert.deepStrictEqual(order, [0, 1, 3])
      yield* Deferred.succeed(ends[1]!, undefined)
      yield* Fiber.join(fibers[1]!)
      yield* Effect.yieldNow
      assert.deepStrictEqual(order, [0, 1, 3, 4])
      for (const index of [3, 4]) yield* Fiber.interrupt(fibers[index]!)
      // All are free again.
      yield* Effect.scoped(Effect.andThen(permits.take, permits.take))
    })
  )

  it.effect("a line that is too long refuses at once", () =>
    Effect.gen(function* () {
      const permits = new CommandPermits(1, 1)
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* permits.take
          yield* Effect.forkScoped(Effect.scoped(permits.take), { startImmediately: true })
          assert.strictEqual((yield* Effect.flip(permits.take)).code, "TOO_MANY_PROCESSES")
        })
      )
    })
  )
})

describe("many executes at once", () => {
  it.live("are all answered, though the agent takes fewer at a time", () =>
    Effect.gen(function* () {
      const agent = yield* scriptedAgent
      const script = { as: "http", bodyAfter: 300, status: 200, body: honestEnd(0, 0) } as const
      yield* Effect.promise(() => agent.play({ ...script, atMost: RUNNING_MAX }))
      const told = yield* Effect.forEach(
        Array.from({ length: 600 }),
        (_, index) => agent.guest.processes.execute(`many-${index}`, spec),
        { concurrency: "unbounded" }
      )
      assert.isTrue(told.every(({ exitCode }) => exitCode === 0))
    }).pipe(Effect.scoped)
  )
})

/** A head is due within 300 ms here, and waited for up to 1,800 from one that is there. */
describe("an agent that is slow", () => {
  it.live("is waited for as long as it answers pings", () =>
    Effect.gen(function* () {
      const agent = yield* scriptedAgent
      yield* Effect.promise(() => agent.play({ as: "http", after: 700, status: 200, body: honestEnd(0, 0) }))
      assert.strictEqual((yield* agent.guest.processes.execute("key", spec)).exitCode, 0)
    }).pipe(Effect.scoped)
  )

  it.live("is given up in the end, and so is one that stands still, as an outcome that is not known", () =>
    Effect.gen(function* () {
      const agent = yield* scriptedAgent
      yield* Effect.promise(() => agent.play({ as: "http", after: 60_000, status: 200, body: honestEnd(0, 0) }))
      const fault = yield* Effect.flip(agent.guest.processes.execute("key", spec))
      assert.deepInclude(fault, { _tag: "GuestUnavailable", fault: "lost" })
      agent.freeze()
      const frozen = yield* Effect.flip(agent.guest.processes.execute("key", spec))
      assert.deepInclude(frozen, { _tag: "GuestUnavailable", fault: "lost" })
    }).pipe(Effect.scoped)
  )

  it.live("one that cannot be reached did nothing, and that is known", () =>
    Effect.gen(function* () {
      const agent = yield* scriptedAgent
      yield* Effect.promise(() => agent.end())
      const fault = yield* Effect.flip(agent.guest.processes.execute("key", spec))
      assert.deepInclude(fault, { _tag: "GuestUnavailable", fault: "unreached" })
    }).pipe(Effect.scoped)
  )
})
