/** Operations beyond a Sandbox's concurrency wait in a queue, and begin in the order of their acceptance. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schedule } from "effect"
import type { OperationResponse } from "../../../schemas/Operation.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Operations } from "../../../src/operation/Operations.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { command, createIn, request, untilStatus } from "../../support/TestSandboxes.ts"

type Operation = OperationResponse["operation"]

const often = Schedule.spaced(5)

const start = Effect.fnUntraced(function* (
  { accountId, sandboxId }: { readonly accountId: string; readonly sandboxId: string },
  idempotencyKey: string,
  argv: ReadonlyArray<string>,
  timeoutSeconds: number | null = null
) {
  const operations = yield* Operations
  const options = { ...request, idempotencyKey, fingerprint: "f", request: { ...command, argv, timeoutSeconds } }
  return yield* operations.start(accountId, sandboxId, options)
})

const until = Effect.fnUntraced(function* (
  { accountId, sandboxId }: { readonly accountId: string; readonly sandboxId: string },
  { id }: Operation,
  isSo: (operation: Operation) => boolean
) {
  const operations = yield* Operations
  return yield* Effect.repeat(operations.get(accountId, sandboxId, id), { until: isSo, schedule: often })
})

const runs = ({ status }: Operation) => status === "running"
const isOver = ({ status, processTree }: Operation) =>
  status === "completed" || (status !== "queued" && processTree !== "running")

/** A running Sandbox, in a world that delays some starts and not others. */
const setUp = Effect.gen(function* () {
  const account = yield* newAccount
  const { id: sandboxId } = (yield* createIn(account)).sandbox
  yield* untilStatus(account.accountId, sandboxId, "running")
  return { accountId: account.accountId, sandboxId }
})

const unevenWorld = Effect.map(SimulatedWorld.make, (world) => {
  let starts = 0
  world.intercept = (call) => (call === "start" ? Effect.sleep((starts++ * 5) % 9) : Effect.void)
  return world
})

const end = (world: SimulatedWorld, sandboxId: string, { id }: Operation) =>
  Effect.sync(() => world.machines.get(sandboxId)!.processes.get(id)!.end({ exitCode: 0, signal: null }, Date.now()))

const began = (world: SimulatedWorld, sandboxId: string) => [...world.machines.get(sandboxId)!.starts.keys()]

const many = Array.from({ length: 66 }, (_, index) => `${index}`)

layer(TestDatabase.layer, { excludeTestServices: true })("operations beyond a Sandbox's concurrency", (it) => {
  it.effect("wait, begin in the order in which they were accepted, and all complete", () =>
    Effect.gen(function* () {
      const world = yield* unevenWorld
      yield* Effect.gen(function* () {
        const sandbox = yield* setUp
        const holders = yield* Effect.forEach(["a", "b", "c", "d"], (key) => start(sandbox, key, ["hang"]))
        for (const holder of holders) yield* until(sandbox, holder, runs)
        const queued = yield* Effect.forEach(many, (key) => start(sandbox, key, ["echo", key]))
        // None has processes yet, as far as is known.
        for (const { status, startedAt, processTree } of queued)
          assert.deepStrictEqual([status, startedAt, processTree], ["queued", null, "unconfirmed"])
        assert.lengthOf(began(world, sandbox.sandboxId), holders.length)
        for (const holder of holders) yield* end(world, sandbox.sandboxId, holder)
        const ended = yield* Effect.forEach(queued, (operation) => until(sandbox, operation, isOver))
        for (const { status, exitCode, output } of ended) {
          assert.deepStrictEqual([status, exitCode, output.stdoutBytes > 0], ["completed", 0, true])
        }
        assert.deepStrictEqual(
          began(world, sandbox.sandboxId),
          [...holders, ...queued].map(({ id }) => id)
        )
        const starts = ended.map(({ startedAt }) => Date.parse(startedAt!))
        assert.deepStrictEqual(
          starts,
          starts.toSorted((a, b) => a - b)
        )
      }).pipe(Effect.provide(testAtoll(world, { ATOLL_OPERATIONS_RUNNING: "4" })))
    })
  )

  it.effect("never run when they are cancelled, and delay no other", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const operations = yield* Operations
        const sandbox = yield* setUp
        const { accountId, sandboxId } = sandbox
        const holder = yield* start(sandbox, "holder", ["hang"])
        yield* until(sandbox, holder, runs)
        const [first, second, third] = [
          yield* start(sandbox, "first", ["hang"]),
          yield* start(sandbox, "second", ["hang"]),
          yield* start(sandbox, "third", ["echo", "third"])
        ]
        // The first waits in the guest, the second behind it.
        yield* Effect.repeat(
          Effect.sync(() => world.machines.get(sandboxId)!.waiting.size),
          { until: (size) => size === 1, schedule: often }
        )
        for (const { id } of [second, first]) {
          const cancelled = yield* operations.cancel(accountId, sandboxId, id, request)
          assert.deepStrictEqual([cancelled.status, cancelled.startedAt], ["cancelled", null])
        }
        for (const operation of [second, first]) {
          const { startedAt, processTree } = yield* until(sandbox, operation, isOver)
          assert.deepStrictEqual([startedAt, processTree], [null, "gone"])
        }
        yield* end(world, sandboxId, holder)
        assert.strictEqual((yield* until(sandbox, third, isOver)).status, "completed")
        assert.deepStrictEqual(began(world, sandboxId), [holder.id, third.id])
      }).pipe(Effect.provide(testAtoll(world, { ATOLL_OPERATIONS_RUNNING: "1" })))
    })
  )

  it.effect("fail with their Sandbox's stop, and none of them begins during it", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const mayStop = yield* Deferred.make<void>()
      world.intercept = (call) => (call === "stop" ? Deferred.await(mayStop) : Effect.void)
      yield* Effect.gen(function* () {
        const sandbox = yield* setUp
        const { accountId, sandboxId } = sandbox
        const holders = yield* Effect.forEach(many.slice(0, 24), (key) => start(sandbox, key, ["hang"]))
        for (const holder of holders) yield* until(sandbox, holder, runs)
        const queued = yield* Effect.forEach(many.slice(24, 48), (key) => start(sandbox, key, ["hang"]))
        const machine = world.machines.get(sandboxId)!
        const stopping = yield* Effect.forkChild((yield* Sandboxes).stop(accountId, sandboxId, request))
        const failed = [...holders, ...queued]
        for (const operation of failed) yield* until(sandbox, operation, ({ status }) => status === "failed")
        yield* Deferred.succeed(mayStop, undefined)
        yield* Fiber.join(stopping)
        for (const operation of failed) {
          const { status, reason } = yield* until(sandbox, operation, isOver)
          assert.deepStrictEqual([status, reason?.code], ["failed", "SANDBOX_STOPPED"])
        }
        assert.sameMembers(
          [...machine.starts.keys()],
          holders.map(({ id }) => id)
        )
        assert.strictEqual(machine.waiting.size, 0)
      }).pipe(
        Effect.ensuring(Deferred.succeed(mayStop, undefined)),
        Effect.provide(testAtoll(world, { ATOLL_OPERATIONS_RUNNING: "24" }))
      )
    })
  )

  it.effect("have their whole time-out from their begin on", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const sandbox = yield* setUp
        const holder = yield* start(sandbox, "holder", ["hang"])
        yield* until(sandbox, holder, runs)
        const queued = yield* start(sandbox, "queued", ["hang"], 0.2)
        yield* Effect.sleep(400)
        assert.strictEqual((yield* until(sandbox, queued, () => true)).status, "queued")
        yield* end(world, sandbox.sandboxId, holder)
        const { status, reason, startedAt, finishedAt } = yield* until(sandbox, queued, isOver)
        assert.deepStrictEqual([status, reason?.code], ["failed", "TIMED_OUT"])
        assert.isAtLeast(Date.parse(finishedAt!) - Date.parse(startedAt!), 200)
      }).pipe(Effect.provide(testAtoll(world, { ATOLL_OPERATIONS_RUNNING: "1" })))
    })
  )

  it.effect("are refused when the queue is full, and the key can be used again", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const sandbox = yield* setUp
        const holder = yield* start(sandbox, "holder", ["hang"])
        yield* until(sandbox, holder, runs)
        const [first] = yield* Effect.forEach(["1", "2", "3"], (key) => start(sandbox, key, ["hang"]))
        const refused = yield* Effect.flip(start(sandbox, "4", ["echo", "4"]))
        assert.deepInclude(refused, { _tag: "RATE_LIMITED", details: { retryAfterSeconds: 5 } })
        // An operation that was accepted before is found all the same.
        assert.strictEqual((yield* start(sandbox, "1", ["hang"])).id, first!.id)
        yield* end(world, sandbox.sandboxId, holder)
        yield* until(sandbox, first!, runs)
        assert.strictEqual((yield* start(sandbox, "4", ["echo", "4"])).status, "queued")
      }).pipe(Effect.provide(testAtoll(world, { ATOLL_OPERATIONS_RUNNING: "1", ATOLL_OPERATIONS_QUEUED: "3" })))
    })
  )

  it.effect("keep their order over a crash of the service, whichever of them end meanwhile", () =>
    Effect.gen(function* () {
      const world = yield* unevenWorld
      const life = testAtoll(world, { ATOLL_OPERATIONS_RUNNING: "2" })
      const { sandbox, holders, queued } = yield* Effect.gen(function* () {
        const sandbox = yield* setUp
        const holders = yield* Effect.forEach(["a", "b"], (key) => start(sandbox, key, ["hang"]))
        for (const holder of holders) yield* until(sandbox, holder, runs)
        const queued = yield* Effect.forEach(many.slice(0, 12), (key) => start(sandbox, key, ["echo", key]))
        return { sandbox, holders, queued }
      }).pipe(Effect.provide(life))
      for (const holder of holders) yield* end(world, sandbox.sandboxId, holder)
      yield* Effect.gen(function* () {
        for (const operation of [...holders, ...queued]) {
          assert.strictEqual((yield* until(sandbox, operation, isOver)).status, "completed")
        }
        assert.deepStrictEqual(
          began(world, sandbox.sandboxId),
          [...holders, ...queued].map(({ id }) => id)
        )
      }).pipe(Effect.provide(life))
    })
  )
})
