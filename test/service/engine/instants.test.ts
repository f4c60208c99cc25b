/** A host's clock may step back; an actor's time does not, even across a restart. */

import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { operationMachine } from "../../../machines/operation.ts"
import { ActorCluster } from "../../../src/engine/ActorCluster.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { Journal } from "../../../src/store/Journal.ts"
import { interpretedBy } from "../../support/interpretedBy.ts"
import { ShiftedClock } from "../../support/ShiftedClock.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const host = Layer.effectDiscard(
  Effect.flatMap(ActorHost, (actors) =>
    actors.register(
      interpretedBy(
        operationMachine,
        () => "process",
        () => Effect.never
      )
    )
  )
).pipe(Layer.provideMerge(ActorHost.layer()), Layer.provide([Journal.layer, ActorCluster.layerSingle]))

const client = { cause: "client" }
const anHourMs = 3_600_000

layer(TestDatabase.layer, { excludeTestServices: true })("the instants of an actor", (it) => {
  it.effect("never run backwards when the host's clock does", () =>
    Effect.gen(function* () {
      const clock = new ShiftedClock()
      const sql = yield* SqlClient.SqlClient
      const at = clock.currentTimeMillisUnsafe()
      const send = (type: "STARTED" | "CANCEL") =>
        Effect.flatMap(ActorHost, (actors) => actors.send(operationMachine, "op_back", { type }, client))
      yield* Effect.gen(function* () {
        const actors = yield* ActorHost
        const input = {
          operationId: "op_back",
          accountId: "acc_1",
          sandboxId: "sbx_1",
          generation: 1,
          timeoutMs: null,
          at
        }
        yield* actors.create(operationMachine, {
          ...{ id: "op_back", accountId: "acc_1", sandboxId: "sbx_1", input, payload: null, cause: "client" },
          ...{ requestId: null, idempotency: null }
        })
        clock.shiftMs = -anHourMs
        yield* send("STARTED")
      }).pipe(Effect.provide(host), Effect.provideService(Clock.Clock, clock))
      clock.shiftMs = -2 * anHourMs
      yield* send("CANCEL").pipe(Effect.provide(host), Effect.provideService(Clock.Clock, clock))
      const log = yield* sql<{ readonly at: bigint; readonly told: number }>`
        select at, (event ->> 'at')::float8 as told from transitions where actor_id = 'op_back' order by revision`
      assert.deepStrictEqual(
        log.map((entry) => [Number(entry.at), entry.told]),
        [at, at, at].map((instant) => [instant, instant])
      )
    })
  )
})
