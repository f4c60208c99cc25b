/** A command that may be lost is run after its commit, and nothing is stored of it but in the log. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { operationMachine } from "../../../machines/operation.ts"
import type { OperationContext } from "../../../schemas/contexts/Operation.ts"
import { ActorCluster } from "../../../src/engine/ActorCluster.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { Journal } from "../../../src/store/Journal.ts"
import { newOperation } from "../../support/engine/newOperation.ts"
import { interpretedBy } from "../../support/interpretedBy.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

interface Stored {
  readonly id: string
  readonly pending: ReadonlyArray<{ readonly type: string }>
  readonly logged: ReadonlyArray<{ readonly type: string }>
}

/** Starting and following never end; forgetting does, when it is let. `op_lean` may lose it. */
const host = (ran: Array<string>, forgotten: Effect.Effect<null>) => {
  const definition = interpretedBy(
    operationMachine,
    () => null,
    ({ type }, scope) =>
      type !== "forgetProcess"
        ? Effect.never
        : Effect.andThen(
            Effect.sync(() => void ran.push(scope.state().id)),
            forgotten
          )
  )
  const forgetProcess = {
    ...definition.commands["forgetProcess"]!,
    isBestEffort: (context: unknown) => (context as OperationContext).operationId === "op_lean"
  }
  return Layer.effectDiscard(
    Effect.gen(function* () {
      const actors = yield* ActorHost
      yield* actors.register({ ...definition, commands: { ...definition.commands, forgetProcess } })
      yield* actors.recover
    })
  ).pipe(
    Layer.provideMerge(ActorHost.layer({ sweepIntervalMs: 100 })),
    Layer.provide([Journal.layer, ActorCluster.layerSingle])
  )
}

const ids = ["op_lean", "op_whole"]

const stored = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<Stored>`
    select a.id, a.pending, t.commands as logged from actors a join transitions t on t.actor_id = a.id and t.revision = a.revision order by a.id`
  return rows.map(({ id, pending, logged }) => [id, pending.map(({ type }) => type), logged.map(({ type }) => type)])
})

layer(TestDatabase.layer, { excludeTestServices: true })("a command that may be lost", (it) => {
  it.effect("runs after its commit, is in the log, is not pending, and is not repeated by the next process", () =>
    Effect.gen(function* () {
      const first: Array<string> = []
      yield* Effect.gen(function* () {
        const actors = yield* ActorHost
        for (const id of ids) {
          yield* actors.create(operationMachine, newOperation(id))
          yield* actors.send(
            operationMachine,
            id,
            { type: "EXITED", exitCode: 0, signal: null, processTree: "gone" },
            { cause: "client", requestId: "req_2" }
          )
        }
        while (first.length < ids.length) yield* Effect.yieldNow
        assert.deepStrictEqual(yield* stored, [
          ["op_lean", ["startProcess"], ["forgetProcess"]],
          ["op_whole", ["startProcess", "forgetProcess"], ["forgetProcess"]]
        ])
      }).pipe(Effect.provide(host(first, Effect.never)))
      assert.deepStrictEqual(first.toSorted(), ids)

      const next: Array<string> = []
      yield* Effect.gen(function* () {
        while ((yield* stored).some(([, pending]) => pending!.length > 1)) yield* Effect.sleep(10)
      }).pipe(Effect.provide(host(next, Effect.succeed(null))))
      assert.deepStrictEqual(next, ["op_whole"])
    })
  )
})
