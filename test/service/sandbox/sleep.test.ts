/** Unused Sandboxes are frozen to disk with their processes, and woken by the next request that needs them. */

import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schedule } from "effect"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { CreditExhausted } from "../../../schemas/Errors.ts"
import { publicText } from "../../../schemas/PublicText.ts"
import { LiveConnections } from "../../../src/access/gateway/LiveConnections.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { Files } from "../../../src/files/Files.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Operations } from "../../../src/operation/Operations.ts"
import { RuntimeRefused } from "../../../src/runtime/Runtime.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { command, createIn, request, untilStatus } from "../../support/TestSandboxes.ts"
import { upload } from "../../support/upload.ts"

const sleepy = { ATOLL_SLEEP_AFTER_SECONDS: "1" }

const runningSandbox = Effect.gen(function* () {
  const account = yield* newAccount
  const { accountId } = account
  const { id } = (yield* createIn(account)).sandbox
  yield* untilStatus(accountId, id, "running")
  const sandboxes = yield* Sandboxes
  const operations = yield* Operations
  const execute = (...argv: ReadonlyArray<string>) =>
    operations.execute(accountId, id, { ...command, argv: [...argv], timeoutSeconds: 20 }, request)
  const start = (...argv: ReadonlyArray<string>) =>
    operations.start(accountId, id, {
      ...request,
      idempotencyKey: argv.join(" "),
      fingerprint: "f",
      request: { ...command, argv: [...argv], timeoutSeconds: null }
    })
  /** Events of its log, oldest first. */
  const events = Effect.map(sandboxes.transitions(accountId, id, { limit: 1000, cursor: null }), ({ transitions }) =>
    transitions.map(({ event }) => event["type"] as string)
  )
  /** The service checked it and found it in use, once more than now. */
  const lookedAt = Effect.gen(function* () {
    const count = Effect.map(events, (seen) => seen.filter((type) => type === "IN_USE").length)
    const before = yield* count
    yield* Effect.repeat(count, { schedule: Schedule.spaced(5), until: (now) => now > before })
  })
  return { accountId, id, execute, start, events, lookedAt, get: sandboxes.get(accountId, id) }
})

layer(TestDatabase.layer, { excludeTestServices: true })("sleep", (it) => {
  it.effect("begins for an unused Sandbox, and the next command wakes it with its processes", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const { accountId, id, execute } = yield* runningSandbox
        const machine = world.machines.get(id)!
        yield* untilStatus(accountId, id, "sleeping")
        yield* Effect.repeat(
          Effect.sync(() => machine.state),
          { schedule: Schedule.spaced(5), until: (state) => state === "suspended" }
        )
        const { stdout } = yield* execute("echo", "awake")
        assert.strictEqual(stdout, "awake\n")
        assert.deepInclude(yield* untilStatus(accountId, id, "running"), { generation: 1 })
        assert.strictEqual(world.machines.get(id), machine)
        yield* untilStatus(accountId, id, "sleeping")
      }).pipe(Effect.provide(testAtoll(world, sleepy)))
    })
  )

  it.effect("ends with a start too", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const { accountId, id } = yield* runningSandbox
        yield* untilStatus(accountId, id, "sleeping")
        const started = yield* (yield* Sandboxes).start(accountId, id, { ...request, idempotencyKey: null })
        assert.deepInclude(started, { status: "running", generation: 1 })
      }).pipe(Effect.provide(testAtoll(world, sleepy)))
    })
  )

  it.effect("does not end for work that the account has no credit for", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const { accountId, id, events, get } = yield* runningSandbox
        yield* untilStatus(accountId, id, "sleeping")
        // Until then a use would cancel the sleep.
        yield* Effect.repeat(
          Effect.sync(() => world.machines.get(id)?.state),
          { schedule: Schedule.spaced(5), until: (state) => state === "suspended" }
        )
        const broke = { requestId: "req_test", exhaustedAt: Date.now() }
        const operations = yield* Operations
        const sandboxes = yield* Sandboxes
        const files = yield* Files
        const at = { accountId, sandboxId: id, path: "/workspace/a", exhaustedAt: broke.exhaustedAt }
        const once = { ...broke, idempotencyKey: "once", fingerprint: "f" }
        const seen = yield* events
        const work: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
          operations.execute(accountId, id, { ...command, argv: ["echo"], timeoutSeconds: 20 }, broke),
          operations.start(accountId, id, { ...once, request: { ...command, argv: ["echo"], timeoutSeconds: null } }),
          sandboxes.start(accountId, id, { ...broke, idempotencyKey: null }),
          sandboxes.start(accountId, id, once),
          files.write(at, upload([Buffer.from("text")])),
          files.edit(at, { expectedSha256: "0".repeat(64), oldText: "a", newText: "b", replaceAll: false }),
          files.createDirectory(at, { recursive: false }),
          files.rename(at, { destination: "/workspace/b", overwrite: false })
        ]
        for (const refused of work) assert.instanceOf(yield* Effect.flip(refused), CreditExhausted)
        assert.strictEqual((yield* get).status, "sleeping")
        assert.deepStrictEqual(yield* events, seen)
      }).pipe(Effect.provide(testAtoll(world, sleepy)))
    })
  )

  it.effect("waits for an operation to end", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const { accountId, id, start, get, lookedAt } = yield* runningSandbox
        const operation = yield* start("hang")
        yield* lookedAt
        yield* lookedAt
        assert.strictEqual((yield* get).status, "running")
        yield* (yield* Operations).cancel(accountId, id, operation.id, request)
        yield* untilStatus(accountId, id, "sleeping")
      }).pipe(Effect.provide(testAtoll(world, sleepy)))
    })
  )

  it.effect("waits for a connection to be closed", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const { accountId, id, get, lookedAt } = yield* runningSandbox
        const release = (yield* LiveConnections).open({
          actorId: id,
          accountId,
          sandboxId: id,
          cut: () => {},
          mayGoOn: () => true
        })!
        yield* lookedAt
        yield* lookedAt
        assert.strictEqual((yield* get).status, "running")
        release()
        yield* untilStatus(accountId, id, "sleeping")
      }).pipe(Effect.provide(testAtoll(world, sleepy)))
    })
  )

  it.effect("does not freeze work that began while it was starting", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const { accountId, id, execute, events } = yield* runningSandbox
        const executing = yield* Effect.forkChild(execute("sleep", "1"))
        yield* Effect.repeat(
          Effect.sync(() => world.machines.get(id)!.processes.size),
          { schedule: Schedule.spaced(5), until: (processes) => processes > 0 }
        )
        const host = yield* ActorHost
        yield* host.send(sandboxMachine, id, { type: "SLEEP" }, { cause: "test" })
        assert.strictEqual((yield* Fiber.join(executing)).exitCode, 0)
        yield* untilStatus(accountId, id, "running")
        assert.include(yield* events, "SUSPEND_FAILED")
      }).pipe(Effect.provide(testAtoll(world, sleepy)))
    })
  )

  it.effect("never begins unless it is configured", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const { id } = yield* runningSandbox
        const host = yield* ActorHost
        const state = yield* host.send(sandboxMachine, id, { type: "IDLE_DUE" }, { cause: "test" })
        assert.strictEqual(state.value, "running")
        yield* Effect.repeat(host.isQuiet, { schedule: Schedule.spaced(5), until: (isQuiet) => isQuiet })
        assert.strictEqual(host.peek(sandboxMachine, id)?.value, "running")
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )

  it.effect(
    "that a limit keeps from ending leaves nothing behind: operations fail with a reason, the volume stays",
    () =>
      Effect.gen(function* () {
        const world = yield* SimulatedWorld.make
        yield* Effect.gen(function* () {
          const { accountId, id, start } = yield* runningSandbox
          const operation = yield* start("hang")
          const host = yield* ActorHost
          yield* host.send(sandboxMachine, id, { type: "SLEEP" }, { cause: "test" })
          yield* Effect.repeat(
            Effect.sync(() => world.machines.get(id)!.state),
            {
              schedule: Schedule.spaced(5),
              until: (state) => state === "suspended"
            }
          )
          world.intercept = (call) =>
            call === "provision"
              ? Effect.fail(new RuntimeRefused({ code: "HOST_FULL", message: publicText`There is no room.` }))
              : Effect.void
          yield* host.send(sandboxMachine, id, { type: "START" }, { cause: "test" })
          const stopped = yield* untilStatus(accountId, id, "stopped")
          assert.strictEqual(stopped.statusReason?.code, "HOST_FULL")
          const failed = yield* Effect.repeat((yield* Operations).get(accountId, id, operation.id), {
            schedule: Schedule.spaced(5),
            // It may still be queued when the Sandbox falls asleep.
            until: ({ status, processTree }) => status === "failed" && processTree === "gone"
          })
          assert.deepStrictEqual([failed.status, failed.processTree], ["failed", "gone"])
          // The Sandbox reports it or the operation itself finds it, whichever comes first.
          assert.include(["SANDBOX_LOST", "SANDBOX_STOPPED"], failed.reason?.code)
          assert.isFalse(world.machines.has(id))
          assert.isTrue(world.volumes.has(id))
        }).pipe(Effect.provide(testAtoll(world)))
      })
  )

  it.effect("a command waits for a boot under way", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const mayBoot = yield* Deferred.make<void>()
      world.intercept = (call) => (call === "provision" ? Deferred.await(mayBoot) : Effect.void)
      yield* Effect.gen(function* () {
        const account = yield* newAccount
        const { id } = (yield* createIn(account)).sandbox
        const operations = yield* Operations
        const executing = yield* Effect.forkChild(
          operations.execute(account.accountId, id, { ...command, argv: ["echo", "up"], timeoutSeconds: 5 }, request)
        )
        yield* Effect.repeat(Effect.yieldNow, { times: 50 })
        yield* Deferred.succeed(mayBoot, undefined)
        assert.strictEqual((yield* Fiber.join(executing)).stdout, "up\n")
      }).pipe(Effect.ensuring(Deferred.succeed(mayBoot, undefined)), Effect.provide(testAtoll(world)))
    })
  )
})
