/**
 * Many concurrent commands in one Sandbox with an overloaded agent: each is answered when it ends, and an unknown
 * outcome is reported.
 */
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

describe("the semaphore of commands", () => {
  it.effect("grants a bounded number of permits, in the order of the requests", () =>
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
      // A waiter that gives up leaves the queue; one that is interrupted while it holds a permit releases it.
      yield* Fiber.interrupt(fibers[2]!)
      yield* Fiber.interrupt(fibers[0]!)
      yield* Effect.yieldNow
      assert.deepStrictEqual(order, [0, 1, 3])
      yield* Deferred.succeed(ends[1]!, undefined)
      yield* Fiber.join(fibers[1]!)
      yield* Effect.yieldNow
      assert.deepStrictEqual(order, [0, 1, 3, 4])
      for (const index of [3, 4]) yield* Fiber.interrupt(fibers[index]!)
      // All permits are free again.
      yield* Effect.scoped(Effect.andThen(permits.take, permits.take))
    })
  )

  it.effect("refuses immediately when its queue is too long", () =>
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

describe("many concurrent executes", () => {
  it.live("are all answered, though the agent takes fewer concurrently", () =>
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

/** Here an answer's head is due within 300 ms; the service waits up to 1,800 ms for a live agent. */
describe("a slow agent", () => {
  it.live("may take its time as long as it answers pings", () =>
    Effect.gen(function* () {
      const agent = yield* scriptedAgent
      yield* Effect.promise(() => agent.play({ as: "http", after: 700, status: 200, body: honestEnd(0, 0) }))
      assert.strictEqual((yield* agent.guest.processes.execute("key", spec)).exitCode, 0)
    }).pipe(Effect.scoped)
  )

  it.live("is given up in the end, as is one that stands still, with an unknown outcome", () =>
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

  it.live("that cannot be reached is known to have done nothing", () =>
    Effect.gen(function* () {
      const agent = yield* scriptedAgent
      yield* Effect.promise(() => agent.end())
      const fault = yield* Effect.flip(agent.guest.processes.execute("key", spec))
      assert.deepInclude(fault, { _tag: "GuestUnavailable", fault: "unreached" })
    }).pipe(Effect.scoped)
  )
})
