/**
 * The whole service with one Sandbox whose agent was taken over, and another tenant's Sandbox beside it: what reaches
 * the database, and what does not.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { FrameType, frameHead } from "../../../../src/agent/processes/processFrames.ts"
import { OUTPUT_END_MAX, routes } from "../../../../src/agent/wire.ts"
import { Atoll } from "../../../../src/app/Atoll.ts"
import { ActorCluster } from "../../../../src/engine/ActorCluster.ts"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { Operations } from "../../../../src/operation/Operations.ts"
import { SandboxProcesses } from "../../../../src/operation/process/SandboxProcesses.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { Sandboxes } from "../../../../src/sandbox/Sandboxes.ts"
import { ExecutionLog } from "../../../../src/store/ExecutionLog.ts"
import { exitedFrame, settledFrame } from "../../../support/agent/hostile/endFrames.ts"
import { HostileAgent } from "../../../support/agent/hostile/HostileAgent.ts"
import { bytes, type Script } from "../../../support/agent/hostile/script.ts"
import { newAccount } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testSettings } from "../../../support/TestSettings.ts"

const request = { requestId: "req_test", exhaustedAt: null }
const command = { cwd: "/workspace", env: {}, stdin: null, encoding: "utf8" as const }

/** The world's second Sandbox and all later ones are honest. */
const service = Effect.gen(function* () {
  const world = yield* SimulatedWorld.make
  const hostile = yield* Effect.acquireRelease(
    Effect.promise(() => HostileAgent.start()),
    (it) => Effect.promise(() => it.end())
  )
  const simulated = simulatedRuntime(world)
  const taken = { sandboxId: "" }
  const runtime = Runtime.of({
    ...simulated,
    guest: (sandboxId, generation) =>
      sandboxId === taken.sandboxId ? Effect.succeed(hostile.guest) : simulated.guest(sandboxId, generation)
  })
  const atoll = Atoll.layer({ sweepIntervalMs: 200 }).pipe(
    Layer.provide(Layer.succeed(Runtime, runtime)),
    Layer.provide(ActorCluster.layerSingle),
    Layer.provide(testSettings())
  )
  return { hostile, taken, atoll }
})

const running = Effect.gen(function* () {
  const sandboxes = yield* Sandboxes
  const { accountId, workspaceId } = yield* newAccount
  const { sandbox } = yield* sandboxes.create({
    accountId,
    ...request,
    idempotencyKey: "k",
    fingerprint: "f",
    request: { workspaceId, name: null, networkEnabled: false, metadata: {}, env: {}, lifetime: null }
  })
  yield* Effect.repeat(sandboxes.get(accountId, sandbox.id), {
    schedule: Schedule.spaced(5),
    until: ({ status }) => status === "running"
  })
  return { accountId, sandboxId: sandbox.id }
})

const settled = bytes(settledFrame)
const frames = (...body: NonNullable<Script["body"]>): Script => ({ as: "http", status: 200, body })
const exit = (changes: object) => frames(bytes(exitedFrame(changes)), settled)

/** Values that no column or row accepts. */
const poison: ReadonlyArray<readonly [string, Script]> = [
  ["an exit code beyond int4", exit({ exitCode: 2 ** 53 - 1 })],
  ["a signal with a NUL", exit({ exitCode: null, signal: "SIG\0" })],
  ["a time beyond int8", exit({ finishedAt: 1e308 })],
  [
    "half a character in a refusal",
    { as: "http", status: 409, body: [bytes('{"code":"CWD_NOT_FOUND","message":"\\ud800\\u0000"}')] }
  ]
]

layer(TestDatabase.layer, { excludeTestServices: true })("a service with a hostile agent", (it) => {
  it.effect("notes every execute of other Sandboxes and answers them exactly, for each lie of the hostile agent", () =>
    Effect.gen(function* () {
      const { hostile, taken, atoll } = yield* service
      yield* Effect.gen(function* () {
        const operations = yield* Operations
        const log = yield* ExecutionLog
        const sql = yield* SqlClient.SqlClient
        const bad = yield* running
        const good = yield* running
        taken.sandboxId = bad.sandboxId
        const execute = ({ accountId, sandboxId }: typeof bad) =>
          operations.execute(accountId, sandboxId, { ...command, argv: ["echo", "exact"], timeoutSeconds: 60 }, request)
        for (const [name, script] of poison) {
          yield* Effect.promise(() => hostile.play(script))
          const [told, honest] = yield* Effect.all([Effect.result(execute(bad)), execute(good)], { concurrency: 2 })
          assert.strictEqual(told._tag, "Failure", name)
          assert.strictEqual(honest.stdout, "exact\n", name)
          if (told._tag === "Failure" && told.failure._tag === "SANDBOX_UNAVAILABLE") {
            assert.deepStrictEqual(told.failure.details, { status: null, outcome: "unknown" }, name)
          }
        }
        yield* log.write
        const [row] = yield* sql<{ readonly noted: bigint }>`
          select count(*) as noted from executions where sandbox_id = ${good.sandboxId} and exit_code = 0`
        assert.strictEqual(Number(row!.noted), poison.length)
      }).pipe(Effect.provide(atoll))
    }).pipe(Effect.scoped)
  )

  it.effect("ends an operation of an agent that lies with an unknown outcome", () =>
    Effect.gen(function* () {
      const { hostile, taken, atoll } = yield* service
      yield* Effect.gen(function* () {
        const operations = yield* Operations
        const bad = yield* running
        const good = yield* running
        taken.sandboxId = bad.sandboxId
        const start = ({ accountId, sandboxId }: typeof bad, key: string) =>
          operations.start(accountId, sandboxId, {
            ...request,
            idempotencyKey: key,
            fingerprint: "f",
            request: { ...command, argv: ["echo", "stored"], timeoutSeconds: null }
          })
        const ended = ({ accountId, sandboxId }: typeof bad, id: string) =>
          operations.wait(accountId, sandboxId, id, { timeoutSeconds: 1, stdoutOffset: null, stderrOffset: null }).pipe(
            Effect.repeat({
              schedule: Schedule.spaced(5),
              until: ({ status }) => status !== "queued" && status !== "running"
            })
          )
        const lie = (name: string, script: Script) =>
          Effect.gen(function* () {
            // The agent answers everything else honestly.
            yield* Effect.promise(() =>
              hostile.play({ as: "http", status: 200, body: [bytes("{}")], at: { [routes.output.path]: script } })
            )
            const { id } = yield* start(bad, name)
            const operation = yield* ended(bad, id)
            assert.deepStrictEqual([operation.status, operation.reason?.code], ["failed", "OUTCOME_UNKNOWN"], name)
            const honest = yield* ended(good, (yield* start(good, name)).id)
            assert.deepStrictEqual(
              [honest.status, honest.exitCode, honest.output.stdoutBytes],
              ["completed", 0, 7],
              name
            )
          })
        const at = (offset: number) => Buffer.concat([frameHead(FrameType.stdout, offset, 2), Buffer.from("hi")])
        yield* lie("offset", frames(bytes(at(OUTPUT_END_MAX - 1))))
        yield* lie("empty", frames(bytes(frameHead(FrameType.stdout, 0, 0), "forever")))
        yield* lie("exit", exit({ exitCode: 2 ** 53 - 1 }))
      }).pipe(Effect.provide(atoll))
    }).pipe(Effect.scoped)
  )

  it.effect("lists the agent's processes as far as they are valid, and names no impossible operation", () =>
    Effect.gen(function* () {
      const { hostile, taken, atoll } = yield* service
      yield* Effect.gen(function* () {
        const processes = yield* SandboxProcesses
        const { accountId, sandboxId } = yield* running
        taken.sandboxId = sandboxId
        const ticks = { startTicks: 7, startedAt: 0, state: "running", cpuMs: 0, memoryBytes: 0 }
        const listed = (changes: object) =>
          Effect.gen(function* () {
            const process = { pid: 2, parentPid: 1, ...ticks, argv: ["x"], ...changes }
            const body = JSON.stringify({ processes: [process], truncated: false })
            yield* Effect.promise(() => hostile.play(frames(bytes(body))))
            const [told] = (yield* processes.list(accountId, sandboxId)).processes
            return told!
          })
        const id = `op_${"0a".repeat(16)}`
        const origins = [
          [id, "operation", id],
          [id.toUpperCase(), null, null],
          [`${id}/../op_x`, null, null],
          ["exe_1", "execute", null],
          ["ssh-1", "ssh", null],
          ["terminal-1", "terminal", null],
          ["constructor", null, null],
          [null, null, null]
        ] as const
        for (const [command, startedBy, operationId] of origins) {
          assert.deepInclude(yield* listed({ command }), { startedBy, operationId, user: null }, `${command}`)
        }
        const drawn = yield* listed({ argv: ["\u001b[2J\u0000", "\u2028"], user: "root" })
        assert.deepInclude(drawn, { argv: ["\ufffd[2J\ufffd", "\ufffd"], user: "root" })
      }).pipe(Effect.provide(atoll))
    }).pipe(Effect.scoped)
  )
})
