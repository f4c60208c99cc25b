/** The Operations service on actors, the guest and the output store. */

import { Effect, Layer } from "effect"
import { operationMachine } from "../../machines/operation.ts"
import { NotFound } from "../../schemas/Errors.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { actorPosition, type ListBinding, openActorCursor, pageOf } from "../lists/Paging.ts"
import { transitionLog } from "../lists/TransitionLog.ts"
import { Dependents } from "../sandbox/Dependents.ts"
import { ownSandbox } from "../sandbox/ownSandbox.ts"
import { unavailable } from "../sandbox/RunningSandbox.ts"
import { SandboxEnvs } from "../sandbox/SandboxEnvs.ts"
import { SandboxUse } from "../sandbox/SandboxUse.ts"
import { Actors } from "../store/Actors.ts"
import { Output } from "../store/Output.ts"
import { declinedEvents } from "./DeclinedEvents.ts"
import { Executions } from "./Executions.ts"
import { openOperationStates, operationDefinition, queuedOperationStates } from "./OperationDefinition.ts"
import { Operations } from "./Operations.ts"
import { type OperationRecord, operationView, readView } from "./OperationView.ts"
import { outputReadings } from "./OutputReading.ts"
import { operationOutput } from "./operationOutput.ts"
import { ownOperations } from "./ownOperations.ts"
import { runningForOperation } from "./runningForOperation.ts"
import { startOperation } from "./startOperation.ts"
import { waitForOperation } from "./waitForOperation.ts"

/** Registers operations with the host of actors, and with the Sandboxes whose end they must hear of. Returns their rejected events. */
const registerOperations = Effect.gen(function* () {
  const host = yield* ActorHost
  const declined = yield* declinedEvents
  yield* host.register({ ...(yield* operationDefinition), declined: declined.note })
  yield* Effect.flatMap(Dependents, (dependents) =>
    dependents.register({
      machine: operationMachine,
      openStates: openOperationStates,
      waitingStates: queuedOperationStates,
      event: (reason) => ({ type: "LOST", reason })
    })
  )
  return declined
})

const make = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const output = yield* Output
  const executions = yield* Executions
  const uses = yield* SandboxUse
  const envs = yield* SandboxEnvs
  const declined = yield* registerOperations
  const readingOf = yield* outputReadings
  const findRunning = yield* runningForOperation
  const { find } = yield* ownOperations

  return Operations.of({
    execute: Effect.fn("Operations.execute")(
      function* (accountId, sandboxId, request, { exhaustedAt }) {
        const { generation, env: kept } = yield* findRunning(accountId, sandboxId, exhaustedAt)
        const env = yield* envs.read(sandboxId, kept?.version ?? null)
        return yield* executions.run({ accountId, sandboxId, generation, env, request })
      },
      (effect, _, sandboxId) => uses.during(sandboxId)(effect)
    ),
    start: yield* startOperation,
    get: (accountId, sandboxId, operationId) => Effect.map(find(accountId, sandboxId, operationId), readView),
    list: Effect.fn("Operations.list")(function* (accountId, sandboxId, page) {
      yield* ownSandbox(actors, accountId, sandboxId)
      const listing: ListBinding = [accountId, "operations", sandboxId]
      const before = yield* openActorCursor(listing, page.cursor)
      const found = yield* actors.list({ kind: "operation", accountId, sandboxId, before, limit: page.limit + 1 })
      const { entries, nextCursor } = pageOf(
        listing,
        found as ReadonlyArray<OperationRecord>,
        page.limit,
        actorPosition
      )
      const stored = yield* output.offsetsOf(entries.map(({ id }) => id))
      return { operations: entries.map((record) => operationView(record, stored.get(record.id)!)), nextCursor }
    }),
    output: Effect.fn("Operations.output")(function* (accountId, sandboxId, operationId, query) {
      return yield* operationOutput(output, yield* find(accountId, sandboxId, operationId), query)
    }),
    follow: (accountId, sandboxId, operationId, from) =>
      Effect.map(find(accountId, sandboxId, operationId), () => readingOf(operationId, from)),
    wait: yield* waitForOperation,
    cancel: Effect.fn("Operations.cancel")(function* (accountId, sandboxId, operationId, { requestId }) {
      yield* find(accountId, sandboxId, operationId)
      yield* host.send(operationMachine, operationId, { type: "CANCEL" }, { cause: "client", requestId }).pipe(
        Effect.catchTags({
          EventRefused: Effect.die,
          ActorNotFound: () => Effect.fail(new NotFound()),
          MailboxFull: unavailable
        })
      )
      return readView(yield* find(accountId, sandboxId, operationId))
    }),
    transitions: Effect.fn("Operations.transitions")(function* (accountId, sandboxId, operationId, page) {
      const record = yield* find(accountId, sandboxId, operationId)
      return yield* transitionLog(operationMachine, record, accountId, page).pipe(Effect.provideService(Actors, actors))
    }),
    declined: Effect.fn("Operations.declined")(function* (accountId, sandboxId, operationId) {
      yield* find(accountId, sandboxId, operationId)
      return yield* declined.list(operationId)
    })
  })
})

export const OperationsLive = Layer.effect(Operations, make).pipe(Layer.provide(Executions.layer))
