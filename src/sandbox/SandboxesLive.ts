/** The Sandboxes service on actors: handlers ask here, the machine decides, the database answers. */

import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { sandboxMachine } from "../../machines/sandbox.ts"
import { ofThisVersion } from "../../machines/sandboxVersions.ts"
import { NotFound } from "../../schemas/Errors.ts"
import { pageDefault } from "../../schemas/Limits.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { actorPosition, type ListBinding, openActorCursor, pageOf } from "../lists/Paging.ts"
import { transitionLog } from "../lists/TransitionLog.ts"
import { Actors } from "../store/Actors.ts"
import { askSandbox, settled } from "./askSandbox.ts"
import { Checkpoints } from "./Checkpoints.ts"
import { createSandbox } from "./createSandbox.ts"
import { Dependents } from "./Dependents.ts"
import { ownSandbox, type SandboxRecord } from "./ownSandbox.ts"
import { sandboxDefinition } from "./SandboxDefinition.ts"
import { Sandboxes, type SandboxFilter } from "./Sandboxes.ts"
import { recordView } from "./SandboxView.ts"
import { sandboxHistory } from "./sandboxHistory.ts"
import { goneStates, isGone, notStartingStates } from "./sandboxStates.ts"
import { sandboxWaits } from "./sandboxWaits.ts"
import { startSandbox } from "./startSandbox.ts"
import { updateSandbox } from "./updateSandbox.ts"

const stopAnswerMs = 20_000
const deleteAnswerMs = 10_000

/** The same filters in another order are the same list. */
const bindingOf = (accountId: string, { status, workspaceId, metadata }: SandboxFilter): ListBinding => [
  accountId,
  "sandboxes",
  status?.toSorted() ?? null,
  workspaceId,
  Object.entries(metadata).toSorted(([one], [other]) => (one < other ? -1 : 1))
]

const make = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const sql = yield* SqlClient.SqlClient
  yield* host.register(yield* sandboxDefinition)
  const waits = yield* sandboxWaits

  const find = (accountId: string, sandboxId: string) => ownSandbox(actors, accountId, sandboxId)

  return Sandboxes.of({
    ...(yield* createSandbox),
    list: Effect.fn("Sandboxes.list")(function* (accountId, filter) {
      const list = bindingOf(accountId, filter)
      const before = yield* openActorCursor(list, filter.cursor)
      const limit = filter.limit ?? (filter.cursor === null ? null : pageDefault)
      const found = yield* actors.list({
        kind: "sandbox",
        accountId,
        status: filter.status,
        workspaceId: filter.workspaceId,
        metadata: filter.metadata,
        before,
        limit: limit === null ? null : limit + 1
      })
      const { entries, nextCursor } = pageOf(list, found as ReadonlyArray<SandboxRecord>, limit, actorPosition)
      return { sandboxes: entries.map(recordView), nextCursor }
    }),
    get: (accountId, sandboxId) => Effect.map(find(accountId, sandboxId), recordView),
    update: yield* updateSandbox,
    start: yield* startSandbox,
    stop: Effect.fn("Sandboxes.stop")(function* (accountId, sandboxId, { requestId }) {
      const record = yield* find(accountId, sandboxId)
      if (isGone(record.status)) return yield* new NotFound()
      yield* askSandbox(host, record, "STOP", requestId)
      const stopped = waits.until(sandboxId, notStartingStates, stopAnswerMs)
      return yield* settled(Effect.tap(stopped, waits.untilDependentsHeard(sandboxId)), record)
    }),
    remove: Effect.fn("Sandboxes.remove")(function* (accountId, sandboxId, { requestId }) {
      const record = yield* find(accountId, sandboxId)
      if (isGone(record.status)) return
      yield* askSandbox(host, record, "DELETE", requestId)
      yield* waits.until(sandboxId, goneStates, deleteAnswerMs)
      yield* waits.untilDependentsHeard(sandboxId)
    }),
    transitions: Effect.fn("Sandboxes.transitions")(function* (accountId, sandboxId, page) {
      const record = yield* find(accountId, sandboxId)
      const present = { ...record, context: ofThisVersion(record.status, record.context) }
      return yield* transitionLog(sandboxMachine, present, accountId, page).pipe(Effect.provideService(Actors, actors))
    }),
    history: Effect.fn("Sandboxes.history")(function* (accountId, sandboxId, page) {
      yield* find(accountId, sandboxId)
      return yield* sandboxHistory(accountId, sandboxId, { ...page, era: yield* actors.era }).pipe(
        Effect.provideService(SqlClient.SqlClient, sql)
      )
    })
  })
})

export const SandboxesLive = Layer.effect(Sandboxes, make).pipe(
  Layer.provideMerge(Layer.mergeAll(Dependents.layer, Checkpoints.layer))
)
