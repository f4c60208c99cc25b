import { assert, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Operations } from "../../../src/operation/Operations.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { logFaults } from "../../support/ActorLogs.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { command, createIn, request, untilStatus } from "../../support/TestSandboxes.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("a Sandbox", (it) => {
  it.effect("is created once per key, runs commands, stops, starts again and is deleted with its volume", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const sandboxes = yield* Sandboxes
        const operations = yield* Operations
        const account = yield* newAccount
        const { accountId } = account
        const created = yield* createIn(account)
        assert.strictEqual(created.replayStatus, 202)
        assert.strictEqual(created.sandbox.status, "pending")
        const { id } = created.sandbox
        yield* untilStatus(accountId, id, "running")
        const replayed = yield* createIn(account)
        assert.deepStrictEqual([replayed.replayStatus, replayed.sandbox.id], [201, id])

        const result = yield* operations.execute(
          accountId,
          id,
          { ...command, argv: ["echo", "hello"], timeoutSeconds: 60 },
          request
        )
        assert.deepStrictEqual([result.exitCode, result.stdout, result.stderr], [0, "hello\n", ""])

        const started = yield* operations.start(accountId, id, {
          ...request,
          idempotencyKey: "op",
          fingerprint: "f",
          request: { ...command, argv: ["echo", "stored"], timeoutSeconds: null }
        })
        const done = yield* operations
          .wait(accountId, id, started.id, { timeoutSeconds: 5, stdoutOffset: null, stderrOffset: null })
          .pipe(Effect.repeat({ schedule: Schedule.spaced(5), until: (operation) => operation.status === "completed" }))
        assert.deepStrictEqual([done.exitCode, done.output.stdoutBytes], [0, 7])
        const output = yield* operations.output(accountId, id, started.id, { stream: "stdout", offset: 1, limit: 100 })
        assert.deepStrictEqual([Buffer.from(output.bytes).toString(), output.eof], ["tored\n", true])

        const hanging = yield* operations.start(accountId, id, {
          ...request,
          idempotencyKey: "op2",
          fingerprint: "f",
          request: { ...command, argv: ["hang"], timeoutSeconds: null }
        })
        const stopped = yield* sandboxes.stop(accountId, id, request)
        assert.strictEqual(stopped.status, "stopped")
        const failed = yield* operations.get(accountId, id, hanging.id)
        assert.deepStrictEqual([failed.status, failed.reason?.code], ["failed", "SANDBOX_STOPPED"])

        const again = yield* sandboxes.start(accountId, id, { ...request, idempotencyKey: null })
        assert.deepStrictEqual([again.status, again.generation], ["running", 2])
        yield* sandboxes.remove(accountId, id, request)
        assert.strictEqual((yield* sandboxes.get(accountId, id)).status, "deleted")
        assert.strictEqual(world.machines.size + world.volumes.size, 0)
        const { transitions } = yield* sandboxes.transitions(accountId, id, { limit: 100, cursor: null })
        assert.deepStrictEqual(
          transitions.map((entry) => entry.to),
          ["pending", "running", "stopping", "stopped", "pending", "running", "deleting", "deleted"]
        )
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )

  it.effect("survives a crash: running operations go on and finish once", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const account = yield* newAccount
      const { accountId } = account
      const { id, operationId } = yield* Effect.gen(function* () {
        const operations = yield* Operations
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(accountId, id, "running")
        const { id: operationId } = yield* operations.start(accountId, id, {
          ...request,
          idempotencyKey: "op",
          fingerprint: "f",
          request: { ...command, argv: ["hang"], timeoutSeconds: null }
        })
        yield* Effect.repeat(operations.get(accountId, id, operationId), {
          schedule: Schedule.spaced(5),
          until: ({ output }) => output.stdoutBytes > 0
        })
        return { id, operationId }
      }).pipe(Effect.provide(testAtoll(world)))
      const unseen = "while no service ran"
      world.machines.get(id)!.processes.get(operationId)!.write("stdout", Buffer.from(unseen))
      yield* Effect.gen(function* () {
        const operations = yield* Operations
        yield* Effect.repeat(operations.get(accountId, id, operationId), {
          schedule: Schedule.spaced(5),
          until: ({ output }) => output.stdoutBytes === "hanging\n".length + unseen.length
        })
        const cancelled = yield* operations.cancel(accountId, id, operationId, request)
        assert.strictEqual(cancelled.status, "cancelled")
        const settled = yield* Effect.repeat(operations.get(accountId, id, operationId), {
          schedule: Schedule.spaced(5),
          until: ({ processTree }) => processTree !== "running"
        })
        assert.deepStrictEqual([settled.status, settled.processTree], ["cancelled", "gone"])
        assert.strictEqual(world.machines.get(id)!.starts.get(operationId), 1)
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )

  it.effect("is refused beyond the account's limit, also by concurrent creates", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const account = yield* newAccount
        const results = yield* Effect.forEach(
          Array.from({ length: 12 }, (_, index) => `k${index}`),
          (key) => Effect.result(createIn(account, key)),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(results.filter((result) => result._tag === "Success").length, 5)
        assert.isTrue(
          results.every((result) => result._tag === "Success" || result.failure._tag === "SANDBOX_LIMIT_REACHED")
        )
      }).pipe(Effect.provide(testAtoll(world, { ATOLL_SANDBOXES_PER_ACCOUNT: "5" })))
    })
  )

  it.effect("leaves logs that replay to the stored state, for every actor of this file", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* logFaults, [])
    })
  )
})
