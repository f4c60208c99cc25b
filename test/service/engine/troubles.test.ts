/** Faults around an actor that no machine foresees, and how its host handles them. */

import { setTimeout } from "node:timers/promises"
import { assert, layer } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { type AnyStateMachine, setup } from "xstate"
import { operationMachine } from "../../../machines/operation.ts"
import { ActorCluster } from "../../../src/engine/ActorCluster.ts"
import type { AnyEvent } from "../../../src/engine/ActorDefinition.ts"
import { KeyContended, MailboxFull, StateUnusable } from "../../../src/engine/ActorError.ts"
import { ActorHost, type ActorHostOptions } from "../../../src/engine/ActorHost.ts"
import { awaitState } from "../../../src/engine/ActorWait.ts"
import { Journal } from "../../../src/store/Journal.ts"
import type { ActorRow, PendingCommand } from "../../../src/store/JournalRecord.ts"
import { interpretedBy } from "../../support/interpretedBy.ts"
import { journalOn, Wire } from "../../support/JournalWire.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const newOperation = (id: string, at = Date.now()) => ({
  id,
  accountId: "acc_1",
  sandboxId: "sbx_1",
  input: { operationId: id, accountId: "acc_1", sandboxId: "sbx_1", generation: 1, timeoutMs: null, at },
  payload: null,
  cause: "client",
  requestId: null,
  idempotency: null
})

const client = { cause: "client" }
const exited = { type: "EXITED", exitCode: 0, signal: null, processTree: "gone" } as const

/** Sets a deadline under a constant name, and ends when it fires. */
const clockMachine = setup({
  types: {
    events: {} as
      | { type: "SET"; when: number; at: number }
      | { type: "FIRE"; at: number }
      | { type: "PING"; at: number }
  },
  actions: { schedule: (_, _params: { name: string; at: number; event: { type: string } }) => {} }
}).createMachine({
  id: "clock",
  initial: "waiting",
  states: {
    waiting: {
      on: {
        SET: {
          actions: {
            type: "schedule",
            params: ({ event }) => ({ name: "alarm", at: event.when, event: { type: "FIRE" } })
          }
        },
        PING: {},
        FIRE: "fired"
      },
      meta: { unchanged: ["PING"], refuses: {} }
    },
    fired: { meta: { unchanged: ["PING", "SET", "FIRE"], refuses: {} } }
  }
})

interface Options extends Partial<ActorHostOptions> {
  readonly answer?: (command: PendingCommand, id: string) => Effect.Effect<AnyEvent | null>
  readonly wire?: Wire
}

layer(TestDatabase.layer, { excludeTestServices: true })("an actor host", (it) => {
  const on = <A, E, R>(
    { answer = () => Effect.never, wire = new Wire(), ...options }: Options,
    use: (tools: {
      readonly host: ActorHost["Service"]
      readonly seen: Array<string>
      readonly again: (id: string) => number
    }) => Effect.Effect<A, E, R>
  ) => {
    const seen: Array<string> = []
    const definitionOf = (machine: AnyStateMachine) =>
      interpretedBy(
        machine,
        () => "process",
        (command, scope) => {
          seen.push(`${scope.state().id} ${command.key}`)
          return answer(command, scope.state().id)
        }
      )
    return Effect.gen(function* () {
      const host = yield* ActorHost
      yield* host.register({
        ...definitionOf(operationMachine),
        context: Schema.Struct({ operationId: Schema.String }) as never
      })
      yield* host.register(definitionOf(clockMachine))
      return yield* use({ host, seen, again: (which) => seen.filter((one) => one === which).length })
    }).pipe(
      Effect.provide(
        ActorHost.layer({ sweepIntervalMs: 50, ...options }).pipe(
          Layer.provideMerge(journalOn(wire)),
          Layer.provide(ActorCluster.layerSingle)
        )
      )
    )
  }

  it.effect("isolates a listener that throws from the actor and from the other listeners", () =>
    on({}, ({ host }) =>
      Effect.gen(function* () {
        const heard: Array<string> = []
        yield* host.create(operationMachine, newOperation("op_listen"))
        yield* host.onCommit(operationMachine, "op_listen", () => {
          throw new Error("a listener's")
        })
        yield* host.onCommit(operationMachine, "op_listen", (state) => void heard.push(state.value))
        yield* host.send(operationMachine, "op_listen", { type: "STARTED" }, client)
        const state = yield* host.send(operationMachine, "op_listen", { type: "CANCEL" }, client)
        assert.strictEqual(state.value, "cancelled")
        yield* Effect.repeat(Effect.yieldNow, { until: () => heard.length >= 2 })
        assert.deepStrictEqual(heard, ["running", "cancelled"])
      }).pipe(Effect.scoped)
    )
  )

  it.effect("reports a stored state of an unknown version to its readers, and other actors go on", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ids = ["op_newer", "op_state", "op_shape", "op_fine"]
      yield* on({}, ({ host }) => Effect.forEach(ids, (id) => host.create(operationMachine, newOperation(id))))
      yield* sql`update actors set machine_version = 2 where id = 'op_newer'`
      yield* sql`update actors set snapshot = jsonb_set(snapshot, '{value}', '"levitating"') where id = 'op_state'`
      yield* sql`update actors set snapshot = jsonb_set(snapshot, '{context,operationId}', '7') where id = 'op_shape'`
      yield* on({}, ({ host }) =>
        Effect.gen(function* () {
          yield* host.recover
          for (const id of ["op_newer", "op_state", "op_shape"]) {
            const defect = yield* host.send(operationMachine, id, { type: "CANCEL" }, client).pipe(
              Effect.as(null),
              Effect.catchDefect((defect) => Effect.succeed(defect)),
              Effect.timeout("10 seconds")
            )
            assert.instanceOf(defect, StateUnusable)
          }
          assert.strictEqual(
            (yield* host.send(operationMachine, "op_fine", { type: "CANCEL" }, client)).value,
            "cancelled"
          )
        })
      )
    })
  )

  it.effect("stores text that the database cannot hold with replacement characters", () =>
    on({}, ({ host }) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* host.create(operationMachine, newOperation("op_nul"))
        yield* host.send(operationMachine, "op_nul", { ...exited, signal: "A\0B\ud800" }, client)
        const [row] = yield* sql<{ readonly signal: string }>`
          select snapshot -> 'context' ->> 'signal' as signal from actors where id = 'op_nul'`
        assert.strictEqual(row?.signal, "A\ufffdB\ufffd")
      })
    )
  )

  it.effect("does not retry at every sweep an outcome that the database refuses permanently", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql.unsafe(`
        create function refuse() returns trigger language plpgsql as $$ begin raise exception 'never'; end $$;`)
      yield* sql.unsafe(`
        create trigger refuse before update on actors for each row when (new.id = 'op_refused') execute function refuse()`)
      const times: Array<number> = []
      const answer = (_: PendingCommand, id: string) =>
        Effect.sync(() => {
          if (id !== "op_refused") return null
          times.push(performance.now())
          return exited
        })
      yield* on({ answer, sweepIntervalMs: 20 }, ({ host }) =>
        Effect.gen(function* () {
          yield* host.create(operationMachine, newOperation("op_refused"))
          yield* Effect.repeat(Effect.sleep(20), { until: () => times.length >= 2 })
          assert.isAbove(times[1]! - times[0]!, 1500)
        })
      )
    })
  )

  it.effect("loses no message behind many that contend for one key in vain", () => {
    const contenders = 12
    return on({}, ({ host }) =>
      Effect.gen(function* () {
        yield* host.create(operationMachine, newOperation("op_keys"))
        const key = { kind: "operation", key: "once", fingerprint: "same" }
        const once = yield* Effect.forEach(Array.from({ length: contenders }), () =>
          Effect.forkChild(Effect.exit(host.sendOnce(operationMachine, "op_keys", { type: "STARTED" }, client, key)), {
            startImmediately: true
          })
        )
        const last = yield* host.send(operationMachine, "op_keys", { type: "CANCEL" }, client)
        assert.strictEqual(last.value, "cancelled")
        const exits = yield* Effect.forEach(once, Fiber.join)
        assert.lengthOf(exits.filter(Exit.isSuccess), 1)
        for (const exit of exits) if (Exit.isFailure(exit)) assert.instanceOf(Cause.squash(exit.cause), KeyContended)
      })
    )
  })

  it.effect("bounds a mailbox exactly", () => {
    const wire = new Wire()
    return on({ mailboxMax: 3, wire }, ({ host }) =>
      Effect.gen(function* () {
        yield* host.create(operationMachine, newOperation("op_full"))
        const isHeld = yield* Deferred.make<void>()
        const release = yield* Deferred.make<void>()
        wire.around = (statement, run) =>
          statement.includes("update actors")
            ? Deferred.succeed(isHeld, undefined).pipe(Effect.andThen(Deferred.await(release)), Effect.andThen(run))
            : run
        const send = host.send(operationMachine, "op_full", { type: "CANCEL" }, client)
        const first = yield* Effect.forkChild(host.send(operationMachine, "op_full", { type: "STARTED" }, client))
        yield* Deferred.await(isHeld)
        // The first message is being committed; three wait.
        const waiting = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(send, { startImmediately: true }))
        const refused = yield* Effect.flip(send)
        assert.instanceOf(refused, MailboxFull)
        yield* Deferred.succeed(release, undefined)
        for (const fiber of [first, ...waiting]) {
          yield* Fiber.join(fiber)
        }
      })
    )
  })

  it.effect("waits at its stop for the transition that is being written, and ends with it, for every clock", () =>
    Effect.gen(function* () {
      const wire = new Wire()
      let isWritten = false
      yield* on({ wire }, ({ host }) =>
        Effect.gen(function* () {
          yield* host.create(operationMachine, newOperation("op_last"))
          const begun = yield* Deferred.make<void>()
          wire.around = (statement, run) =>
            statement.includes("update actors")
              ? Deferred.succeed(begun, undefined).pipe(
                  Effect.andThen(Effect.promise(() => setTimeout(100))),
                  Effect.andThen(run),
                  Effect.tap(() =>
                    Effect.sync(() => {
                      isWritten = true
                    })
                  )
                )
              : run
          yield* Effect.forkDetach(host.send(operationMachine, "op_last", { type: "CANCEL" }, client))
          yield* Deferred.await(begun)
        })
      ).pipe(Effect.provide(TestClock.layer()))
      assert.isTrue(isWritten)
    })
  )

  it.effect("does nothing again when it adopts an actor that lives already, or has lived and sleeps", () =>
    on({ passivateAfterMs: 100, sweepIntervalMs: 20, answer: () => Effect.succeed(null) }, ({ host, seen, again }) =>
      Effect.gen(function* () {
        const actor = newOperation("op_adopt")
        const inserted = host.prepare(operationMachine, actor)
        yield* host.create(operationMachine, actor)
        yield* Effect.repeat(Effect.sleep(5), { until: () => seen.includes("op_adopt 1.0") })
        yield* host.adopt(inserted)
        yield* host.send(operationMachine, "op_adopt", exited, client)
        yield* Effect.repeat(host.size, { until: (size) => size === 0 })
        yield* host.adopt(inserted)
        const state = yield* host.send(operationMachine, "op_adopt", { type: "CANCEL" }, client)
        assert.deepStrictEqual([state.value, state.revision], ["completed", 2])
        assert.strictEqual(again("op_adopt 1.0"), 1)
      })
    )
  )

  it.effect("does not fire a deadline for its old instant when it was moved meanwhile", () => {
    const wire = new Wire()
    return on({ wire }, ({ host }) =>
      Effect.gen(function* () {
        yield* host.create(clockMachine, newOperation("clk_moved"))
        const due = Date.now() + 150
        yield* host.send(clockMachine, "clk_moved", { type: "SET", when: due }, client)
        const isHeld = yield* Deferred.make<void>()
        const release = yield* Deferred.make<void>()
        wire.around = (statement, run) =>
          statement.includes("update actors")
            ? Deferred.succeed(isHeld, undefined).pipe(Effect.andThen(Deferred.await(release)), Effect.andThen(run))
            : run
        const moved = yield* Effect.forkChild(
          host.send(clockMachine, "clk_moved", { type: "SET", when: due + 1_000_000 }, client)
        )
        yield* Deferred.await(isHeld)
        // The old instant passes during the commit of the move: its message waits behind it.
        yield* Effect.repeat(Effect.sleep(10), { until: () => Date.now() > due + 100 })
        wire.around = (_, run) => run
        yield* Deferred.succeed(release, undefined)
        yield* Fiber.join(moved)
        const state = yield* host.send(clockMachine, "clk_moved", { type: "PING" }, client)
        assert.strictEqual(state.value, "waiting")
      })
    )
  })

  it.effect("never shows a waiter an older state than it has shown before", () =>
    Effect.gen(function* () {
      const row = (revision: number, value: string): ActorRow => ({
        id: "op_wait",
        kind: "operation",
        accountId: "acc",
        sandboxId: "sbx",
        machineVersion: 1,
        revision,
        snapshot: { value, context: {} },
        pending: [],
        deadlines: {},
        changedAt: 0
      })
      let reads = 0
      const journal = {
        load: () =>
          Effect.sync(() => {
            reads++
            return row(1, "queued")
          })
      } as unknown as Journal["Service"]
      const host = {
        owns: () => true,
        onCommit: (_: AnyStateMachine, __: string, listener: (state: unknown) => void) =>
          Effect.sync(() => listener({ id: "op_wait", revision: 5, kind: "operation", value: "running", context: {} }))
      } as unknown as ActorHost["Service"]
      const latest = yield* awaitState(operationMachine, "op_wait", ({ value }) => value === "completed", 1200).pipe(
        Effect.provideService(Journal, journal),
        Effect.provideService(ActorHost, host)
      )
      assert.isAbove(reads, 1)
      assert.deepStrictEqual([latest?.revision, latest?.value], [5, "running"])
    })
  )
})
