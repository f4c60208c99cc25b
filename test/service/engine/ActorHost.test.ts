import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { operationMachine } from "../../../machines/operation.ts"
import { ActorCluster } from "../../../src/engine/ActorCluster.ts"
import type { AnyEvent, CommandScope } from "../../../src/engine/ActorDefinition.ts"
import { EventRefused } from "../../../src/engine/ActorError.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { replay } from "../../../src/engine/Transition.ts"
import { Journal } from "../../../src/store/Journal.ts"
import type { PendingCommand } from "../../../src/store/JournalRecord.ts"
import { stillPendingOf } from "../../../src/store/StillPending.ts"
import { newOperation } from "../../support/engine/newOperation.ts"
import { interpretedBy } from "../../support/interpretedBy.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

/** One test's interpreter: the answer of a command, and a record of the commands. */
class Interpreter {
  readonly seen: Array<string> = []
  answer: (command: PendingCommand, scope: CommandScope) => Effect.Effect<AnyEvent | null> = () => Effect.never
}

const host = (interpreter: Interpreter) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const actors = yield* ActorHost
      yield* actors.register(
        interpretedBy(
          operationMachine,
          (type) => (type === "forgetProcess" ? "forget" : "process"),
          (command, scope) => {
            interpreter.seen.push(`${scope.state().id} ${command.key} ${command.type}`)
            return interpreter.answer(command, scope)
          }
        )
      )
      yield* actors.recover
    })
  ).pipe(
    Layer.provideMerge(ActorHost.layer({ sweepIntervalMs: 100 })),
    Layer.provide([Journal.layer, ActorCluster.layerSingle])
  )

const client = { cause: "client", requestId: "req_2" }

layer(TestDatabase.layer, { excludeTestServices: true })("ActorHost", (it) => {
  it.effect("commits a transition before it answers, and logs it completely", () =>
    Effect.gen(function* () {
      const interpreter = new Interpreter()
      yield* Effect.gen(function* () {
        const actors = yield* ActorHost
        const sql = yield* SqlClient.SqlClient
        assert.deepInclude(yield* actors.create(operationMachine, newOperation("op_a")), {
          revision: 1,
          value: "queued"
        })
        const state = yield* actors.send(operationMachine, "op_a", { type: "CANCEL" }, client)
        assert.strictEqual(state.value, "cancelled")
        assert.strictEqual(state.revision, 2)
        const [row] = yield* sql<{
          status: string
          revision: bigint
        }>`select status, revision from actors where id = 'op_a'`
        assert.deepStrictEqual(row, { status: "cancelled", revision: 2n })
        const log = yield* sql<{ event: AnyEvent; from_state: string | null; to_state: string; request_id: string }>`
          select event, from_state, to_state, request_id from transitions where actor_id = 'op_a' order by revision`
        assert.deepStrictEqual(
          log.map((entry) => [entry.event.type, entry.from_state, entry.to_state, entry.request_id]),
          [
            ["CREATED", null, "queued", "req_1"],
            ["CANCEL", "queued", "cancelled", "req_2"]
          ]
        )
        const [stored] = yield* sql<{
          input: unknown
          snapshot: unknown
        }>`select input, snapshot from actors where id = 'op_a'`
        assert.deepStrictEqual(
          replay(
            operationMachine,
            stored!.input,
            log.slice(1).map((entry) => entry.event)
          ),
          stored!.snapshot
        )
      }).pipe(Effect.provide(host(interpreter)))
    })
  )

  it.effect("stores with each transition the commands of earlier ones that are still pending", () =>
    Effect.gen(function* () {
      const actors = yield* ActorHost
      const sql = yield* SqlClient.SqlClient
      yield* actors.create(operationMachine, newOperation("op_still"))
      const started = { type: "STARTED" } as const
      const exited = { type: "EXITED", exitCode: 0, signal: null, processTree: "running" } as const
      for (const event of [null, started, exited]) {
        if (event !== null) yield* actors.send(operationMachine, "op_still", event, client)
        const [now] = yield* sql<{ pending: ReadonlyArray<PendingCommand>; still: string; own: number }>`
          select a.pending, t.still_pending as still, jsonb_array_length(t.commands) as own
          from actors a join transitions t on t.actor_id = a.id and t.revision = a.revision where a.id = 'op_still'`
        const keys = now!.pending.map(({ key }) => key)
        assert.strictEqual(now!.still, keys.slice(0, keys.length - now!.own).join(" "))
      }
      const log = yield* sql<{ still_pending: string | null; to_state: string }>`
        select still_pending, to_state from transitions where actor_id = 'op_still' order by revision`
      assert.deepStrictEqual(
        log.map((row) => [row.to_state, row.still_pending]),
        [
          ["queued", ""],
          // Following replaces starting, in the same lane.
          ["running", ""],
          ["completed", "2.0"]
        ]
      )
      assert.deepStrictEqual(stillPendingOf("1.0 12.3"), [
        { revision: 1, index: 0 },
        { revision: 12, index: 3 }
      ])
      assert.deepStrictEqual([stillPendingOf(""), stillPendingOf(null)], [[], null])
    }).pipe(Effect.provide(host(new Interpreter())))
  )

  it.effect("makes one actor of many concurrent creations with one key", () =>
    Effect.gen(function* () {
      const actors = yield* ActorHost
      const made = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => `op_key${index}`),
        (id) => actors.create(operationMachine, newOperation(id, { kind: "operation", key: "same", fingerprint: "f" })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(made.filter((one) => one !== null).length, 1)
    }).pipe(Effect.provide(host(new Interpreter())))
  )

  it.effect("orders cancel against completion: every caller sees the one terminal result", () =>
    Effect.gen(function* () {
      const actors = yield* ActorHost
      yield* actors.create(operationMachine, newOperation("op_race"))
      const exited = { type: "EXITED", exitCode: 0, signal: null, processTree: "gone" } as const
      const cancel = { type: "CANCEL" } as const
      const results = yield* Effect.forEach(
        [cancel, exited, cancel, cancel],
        (event) => Effect.result(actors.send(operationMachine, "op_race", event, client)),
        { concurrency: "unbounded" }
      )
      const states = new Set(results.flatMap((result) => (result._tag === "Success" ? [result.success.value] : [])))
      assert.deepStrictEqual([...states], ["cancelled"])
      const refused = results[1]!
      assert.isTrue(
        refused._tag === "Failure" &&
          refused.failure instanceof EventRefused &&
          refused.failure.code === "OPERATION_TERMINAL"
      )
    }).pipe(Effect.provide(host(new Interpreter())))
  )

  it.effect("repeats pending commands after a crash, and none that are done", () =>
    Effect.gen(function* () {
      const before = new Interpreter()
      yield* Effect.gen(function* () {
        const actors = yield* ActorHost
        yield* actors.create(operationMachine, newOperation("op_crash"))
        yield* actors.create(operationMachine, newOperation("op_done"))
        yield* actors.send(
          operationMachine,
          "op_done",
          { type: "EXITED", exitCode: 0, signal: null, processTree: "gone" },
          client
        )
        while (!before.seen.includes("op_done 2.0 forgetProcess")) yield* Effect.yieldNow
      }).pipe(
        Effect.provide(
          host(
            Object.assign(before, {
              answer: (command: PendingCommand) =>
                command.type === "forgetProcess" ? Effect.succeed(null) : Effect.never
            })
          )
        )
      )
      const after = new Interpreter()
      yield* Effect.gen(function* () {
        const actors = yield* ActorHost
        while (!after.seen.includes("op_crash 1.0 startProcess")) yield* Effect.yieldNow
        const state = yield* actors.send(operationMachine, "op_crash", { type: "STARTED" }, client)
        assert.strictEqual(state.value, "running")
      }).pipe(Effect.provide(host(after)))
    })
  )

  it.effect("fires a stored deadline, also one that passed while no process ran", () =>
    Effect.gen(function* () {
      const withTimeout = (id: string, timeoutMs: number) => {
        const actor = newOperation(id)
        return { ...actor, input: { ...actor.input, timeoutMs: timeoutMs as never } }
      }
      yield* Effect.gen(function* () {
        const actors = yield* ActorHost
        yield* actors.create(operationMachine, withTimeout("op_due", 30))
        yield* actors.send(operationMachine, "op_due", { type: "STARTED" }, client)
        yield* actors.create(operationMachine, withTimeout("op_later", 300))
        yield* actors.send(operationMachine, "op_later", { type: "STARTED" }, client)
        const sql = yield* SqlClient.SqlClient
        const status = sql<{ status: string }>`select status from actors where id = 'op_due'`
        yield* Effect.repeat(status, { until: ([row]) => row?.status === "failed" })
      }).pipe(Effect.provide(host(new Interpreter())))
      yield* Effect.sleep(300)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const status = sql<{ status: string }>`select status from actors where id = 'op_later'`
        yield* Effect.repeat(status, { until: ([row]) => row?.status === "failed" })
      }).pipe(Effect.provide(host(new Interpreter())))
    })
  )

  it.effect("fences an owner whose revision is behind: nothing is lost and nothing is done twice", () =>
    Effect.gen(function* () {
      const open = Effect.map(Layer.build(host(new Interpreter())), (context) => Context.get(context, ActorHost))
      const left = yield* open
      const right = yield* open
      yield* left.create(operationMachine, newOperation("op_fence"))
      yield* right.send(operationMachine, "op_fence", { type: "STARTED" }, client)
      // The remembered state of `left` is one revision behind now.
      const state = yield* left.send(operationMachine, "op_fence", { type: "CANCEL" }, client)
      assert.strictEqual(state.value, "cancelled")
      assert.strictEqual(state.revision, 3)
    })
  )

  it.effect("sends followers an actor's own transitions, and those that another owner has committed", () =>
    Effect.gen(function* () {
      const one = Context.get(yield* Layer.build(host(new Interpreter())), ActorHost)
      const other = Context.get(yield* Layer.build(host(new Interpreter())), ActorHost)
      const heard: Array<string> = []
      yield* one.create(operationMachine, newOperation("op_told"))
      yield* Effect.forkScoped(one.follow(operationMachine, "op_told", 1, ({ value }) => void heard.push(value)))
      yield* one.send(operationMachine, "op_told", { type: "STARTED" }, client)
      yield* Effect.repeat(Effect.yieldNow, { until: () => heard.length === 1 })
      yield* other.send(operationMachine, "op_told", { type: "CANCEL" }, client)
      // A sweep finds that the row is ahead of the remembered state.
      yield* Effect.repeat(Effect.yieldNow, { until: () => heard.length >= 2 })
      assert.deepStrictEqual(heard, ["running", "cancelled"])
    }).pipe(Effect.scoped)
  )

  it.effect("passivates an idle actor and wakes it with its state", () =>
    Effect.gen(function* () {
      const actors = yield* ActorHost
      yield* actors.create(operationMachine, newOperation("op_idle"))
      yield* actors.send(
        operationMachine,
        "op_idle",
        { type: "EXITED", exitCode: 3, signal: null, processTree: "gone" },
        client
      )
      yield* Effect.repeat(actors.size, { until: (size) => size === 0 })
      const state = yield* actors.send(operationMachine, "op_idle", { type: "CANCEL" }, client)
      assert.strictEqual(state.value, "completed")
    }).pipe(
      Effect.provide(
        Layer.effectDiscard(
          Effect.gen(function* () {
            const actors = yield* ActorHost
            yield* actors.register(
              interpretedBy(
                operationMachine,
                () => null,
                () => Effect.succeed(null)
              )
            )
          })
        ).pipe(
          Layer.provideMerge(ActorHost.layer({ sweepIntervalMs: 20, passivateAfterMs: 20 })),
          Layer.provide([Journal.layer, ActorCluster.layerSingle])
        )
      )
    )
  )
})
