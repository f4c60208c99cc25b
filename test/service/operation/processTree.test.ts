/** `processTree: "gone"` is a statement about processes: the runtime was checked. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Operations } from "../../../src/operation/Operations.ts"
import { RuntimeUnavailable } from "../../../src/runtime/Runtime.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { command, createIn, request, untilStatus } from "../../support/TestSandboxes.ts"

const aHangingOperation = Effect.gen(function* () {
  const account = yield* newAccount
  const { accountId } = account
  const operations = yield* Operations
  const { id } = (yield* createIn(account)).sandbox
  yield* untilStatus(accountId, id, "running")
  const { id: operationId } = yield* operations.start(accountId, id, {
    ...request,
    idempotencyKey: "op",
    fingerprint: "f",
    request: { ...command, argv: ["hang"], env: { TOKEN: "a secret" }, timeoutSeconds: null }
  })
  const get = operations.get(accountId, id, operationId)
  yield* Effect.repeat(get, {
    schedule: Schedule.spaced(5),
    until: ({ output, status }) => output.stdoutBytes > 0 && status === "running"
  })
  return { accountId, id, operationId, get }
})

layer(TestDatabase.layer, { excludeTestServices: true })("the process tree of an operation", (it) => {
  it.effect("is unconfirmed when its Sandbox no longer knows the command", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const { id, operationId, get } = yield* aHangingOperation
        const machine = world.machines.get(id)!
        const process = machine.processes.get(operationId)!
        // The connection breaks, and the guest behind the next one does not know the command.
        machine.processes.delete(operationId)
        machine.state = "suspended"
        for (const watcher of [...process.watchers]) watcher()
        machine.state = "running"
        const settled = yield* Effect.repeat(get, {
          schedule: Schedule.spaced(5),
          until: ({ status, processTree }) => status === "failed" && processTree !== "running"
        })
        assert.deepStrictEqual([settled.reason?.code, settled.processTree], ["OUTCOME_UNKNOWN", "unconfirmed"])
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )

  it.effect("is not reported as gone before the runtime of its stopped Sandbox has ended", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const mayStop = yield* Deferred.make<void>()
      world.intercept = (call) =>
        call === "stop"
          ? Deferred.await(mayStop)
          : call === "kill"
            ? Effect.fail(new RuntimeUnavailable({ message: "The guest does not answer while it is being stopped." }))
            : Effect.void
      yield* Effect.gen(function* () {
        const { accountId, id, operationId, get } = yield* aHangingOperation
        const stopping = yield* Effect.forkChild((yield* Sandboxes).stop(accountId, id, request))
        const failed = yield* Effect.repeat(get, {
          schedule: Schedule.spaced(5),
          until: ({ status }) => status === "failed"
        })
        const { processes } = world.machines.get(id)!
        assert.isFalse(processes.get(operationId)!.exited)
        assert.strictEqual(failed.processTree, "running")
        // A running process may still write: the output read so far is incomplete.
        const rest = { stream: "stdout" as const, offset: failed.output.stdoutBytes, limit: 1 }
        const ended = Effect.map((yield* Operations).output(accountId, id, operationId, rest), ({ eof }) => eof)
        assert.isFalse(yield* ended)
        yield* Deferred.succeed(mayStop, undefined)
        yield* Fiber.join(stopping)
        const settled = yield* Effect.repeat(get, {
          schedule: Schedule.spaced(5),
          until: ({ processTree }) => processTree !== "running"
        })
        assert.strictEqual(settled.processTree, "gone")
        assert.isTrue(yield* ended)
      }).pipe(Effect.ensuring(Deferred.succeed(mayStop, undefined)), Effect.provide(testAtoll(world)))
    })
  )

  it.effect("may outlive a cancel for long, but the command's secrets are erased", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const mayKill = yield* Deferred.make<void>()
      world.intercept = (call) => (call === "kill" ? Deferred.await(mayKill) : Effect.void)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { accountId, id, operationId, get } = yield* aHangingOperation
        const kept = Effect.map(
          sql<{ readonly env: unknown; readonly stdin: unknown }>`
            select payload -> 'env' as env, payload -> 'stdin' as stdin from actors where id = ${operationId}`,
          ([row]) => row!
        )
        assert.deepStrictEqual((yield* kept).env, { TOKEN: "a secret" })
        const operations = yield* Operations
        const { status, processTree } = yield* operations.cancel(accountId, id, operationId, request)
        assert.deepStrictEqual([status, processTree], ["cancelled", "running"])
        yield* Effect.repeat(kept, { schedule: Schedule.spaced(5), until: ({ env }) => env === null })
        assert.strictEqual((yield* get).processTree, "running")
        assert.isNull((yield* kept).stdin)
      }).pipe(Effect.ensuring(Deferred.succeed(mayKill, undefined)), Effect.provide(testAtoll(world)))
    })
  )
})
