import { assert, layer } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Fiber, Layer, Scope, Tracer } from "effect"
import { SqlClient } from "effect/sql"
import { operationMachine } from "../../../machines/operation.ts"
import { ActorCluster } from "../../../src/engine/ActorCluster.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { JournalDatabase } from "../../../src/store/Database.ts"
import { Journal } from "../../../src/store/Journal.ts"
import { interpretedBy } from "../../support/interpretedBy.ts"
import { Gates } from "../../support/race/Gates.ts"
import { gatedJournal } from "../../support/race/gatedDatabase.ts"
import { ManualClock } from "../../support/race/ManualClock.ts"
import { Stillness, turn } from "../../support/race/Stillness.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const options = { sweepIntervalMs: 5000, passivateAfterMs: 3000, deadlineHorizonMs: 10_000, mailboxMax: 8 }

/** An endless operation with a time-out, on a host whose time and commits the test controls. */
const timedOperation = (id: string, timeoutMs: number) =>
  Effect.gen(function* () {
    const clock = new ManualClock(1_700_000_000_000)
    const gates = new Gates()
    const stillness = new Stillness()
    const scope = yield* Effect.acquireRelease(Effect.sync(Scope.makeUnsafe), (one) => Scope.close(one, Exit.void))
    const journal = Layer.provide(
      Journal.layer,
      Layer.succeed(JournalDatabase, gatedJournal(yield* JournalDatabase, gates, {}))
    )
    const host = yield* Layer.buildWithScope(
      ActorHost.layer(options).pipe(Layer.provide([journal, ActorCluster.layerSingle])),
      scope
    ).pipe(
      Effect.map((context) => Context.get(context, ActorHost)),
      Effect.provideService(Clock.Clock, clock),
      Effect.provideService(Tracer.Tracer, stillness.tracer)
    )
    yield* host.register(
      interpretedBy(
        operationMachine,
        () => "process",
        () => Effect.never
      )
    )
    const input = {
      operationId: id,
      accountId: "a",
      sandboxId: "s",
      generation: 1,
      timeoutMs,
      at: clock.currentTimeMillisUnsafe()
    }
    yield* host.create(operationMachine, {
      id,
      accountId: "a",
      sandboxId: "s",
      input,
      payload: null,
      cause: "client",
      requestId: null,
      idempotency: null
    })
    yield* host.send(operationMachine, id, { type: "STARTED" }, { cause: "command" })
    const sql = yield* SqlClient.SqlClient
    const status = Effect.map(
      sql<{ readonly status: string }>`select status from actors where id = ${id}`,
      ([row]) => row!.status
    )
    const advance = (ms: number) =>
      Effect.promise(async () => {
        const end = clock.currentTimeMillisUnsafe() + ms
        while (clock.tick(end)) await stillness.reached()
        await stillness.reached()
      })
    return { gates, status, advance, host }
  })

layer(TestDatabase.layer, { excludeTestServices: true })("deadlines", (it) => {
  it.effect("fire also when they lie beyond the timers in memory, and the actor stayed awake", () =>
    Effect.gen(function* () {
      const { status, advance } = yield* timedOperation("op_far", 30_000)
      yield* advance(29_000)
      assert.strictEqual(yield* status, "running")
      yield* advance(6000)
      yield* Effect.repeat(status, { until: (now) => now === "failed", times: 20_000 })
      assert.strictEqual(yield* status, "failed")
    })
  )

  it.effect("send one message, however long its commit takes", () =>
    Effect.gen(function* () {
      const { gates, status, advance, host } = yield* timedOperation("op_slow", 2000)
      gates.add({ call: "commit", phase: "before", action: "hold", left: 1 })
      yield* advance(2500)
      yield* Effect.promise(async () => {
        for (let turns = 0; turns < 100; turns++) await turn()
      })
      const cancelled = yield* Effect.forkChild(
        host.send(operationMachine, "op_slow", { type: "CANCEL" }, { cause: "client" })
      )
      yield* advance(4000)
      assert.deepStrictEqual(gates.heldCalls, ["commit"])
      gates.open()
      // A full mailbox would have refused it.
      const { value } = yield* Fiber.join(cancelled)
      assert.strictEqual(value, "failed")
      assert.strictEqual(yield* status, "failed")
    })
  )
})
