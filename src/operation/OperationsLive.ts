/** The Operations service on actors, the guest and the output store. */

import { Clock, Effect, Layer, Queue } from "effect"
import { SqlClient } from "effect/sql"
import { isSettled, operationMachine } from "../../machines/operation.ts"
import { NotFound, RateLimited } from "../../schemas/Errors.ts"
import { millisecondsOf } from "../../schemas/Seconds.ts"
import { requireCredit } from "../account/Credit.ts"
import { takenKey } from "../account/idempotency/IdempotencyKeys.ts"
import { Settings } from "../Config.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { actorPosition, type ListBinding, openActorCursor, pageOf } from "../engine/Paging.ts"
import { transitionLog } from "../engine/TransitionLog.ts"
import { taggedStates } from "../engine/taggedStates.ts"
import { newOperationId } from "../platform/identifier/newId.ts"
import { Shutdown } from "../platform/shutdown/Shutdown.ts"
import { Dependents } from "../sandbox/Dependents.ts"
import { ownSandbox } from "../sandbox/ownSandbox.ts"
import { runningSandbox, unavailable, unavailableUnlessRunning } from "../sandbox/RunningSandbox.ts"
import { SandboxEnvs } from "../sandbox/SandboxEnvs.ts"
import { SandboxUse } from "../sandbox/SandboxUse.ts"
import { Actors } from "../store/Actors.ts"
import { textColumn } from "../store/Columns.ts"
import { Journal } from "../store/Journal.ts"
import { Output } from "../store/Output.ts"
import { declinedEvents } from "./DeclinedEvents.ts"
import { Executions } from "./Executions.ts"
import { openOperationStates, operationDefinition, queuedOperationStates } from "./OperationDefinition.ts"
import type { OperationPayload } from "./OperationPayload.ts"
import { Operations } from "./Operations.ts"
import { type OperationRecord, operationView } from "./OperationView.ts"
import { outputReadings } from "./OutputReading.ts"

const keyKind = "operation.start"
const askEveryMs = 500
/** Retry-After for a request that finds the queue full. */
const queueRetrySeconds = 5
const terminalStates = taggedStates(operationMachine, "terminal")

const make = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const journal = yield* Journal
  const output = yield* Output
  const shutdown = yield* Shutdown
  const executions = yield* Executions
  const uses = yield* SandboxUse
  const envs = yield* SandboxEnvs
  const settings = yield* Settings
  const queuedMax = settings.operationsQueued
  const sql = yield* SqlClient.SqlClient
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

  const findRunning = (accountId: string, sandboxId: string, exhaustedAt: number | null) =>
    runningSandbox(accountId, sandboxId, requireCredit(exhaustedAt)).pipe(
      Effect.provideService(ActorHost, host),
      Effect.provideService(Actors, actors),
      Effect.provideService(Journal, journal),
      Effect.provideService(Settings, settings),
      unavailableUnlessRunning
    )

  const readingOf = yield* outputReadings
  const find = Effect.fnUntraced(function* (accountId: string, sandboxId: string, operationId: string) {
    const record = yield* actors.read(operationId)
    if (
      record === null ||
      record.kind !== "operation" ||
      record.accountId !== accountId ||
      record.sandboxId !== sandboxId
    ) {
      return yield* new NotFound()
    }
    return record as OperationRecord
  })

  const view = (record: OperationRecord) =>
    Effect.map(output.offsets(record.id), (stored) => operationView(record, stored))

  const replay = Effect.fnUntraced(function* (accountId: string, key: string, fingerprint: string) {
    const known = yield* takenKey(sql, { accountId, kind: keyKind, key }, fingerprint)
    if (known === null) return null
    const record = yield* actors.read(known.targetId)
    if (record === null) return yield* new NotFound()
    return yield* view(record as OperationRecord)
  })

  /** Concurrent requests may all find the last place free; their number is limited by what all processes serve concurrently. */
  const requireRoom = Effect.fnUntraced(function* (sandboxId: string) {
    const [{ queued } = { queued: 0 }] = yield* sql<{ readonly queued: number }>`
      select count(*)::int4 as queued from actors
      where sandbox_id = ${sandboxId} and kind = 'operation' and status = any(${textColumn(queuedOperationStates)}::text[])
        and (pending <> '[]'::jsonb or due_at is not null)`.pipe(Effect.orDie)
    if (queued < queuedMax) return
    return yield* new RateLimited({
      message: `${queued} operations of this Sandbox wait for their turn, which is the limit. Start it again when some of them have begun, with the same Idempotency-Key.`,
      details: { retryAfterSeconds: queueRetrySeconds }
    })
  })

  const start: Operations["Service"]["start"] = Effect.fn("Operations.start")(
    function* (accountId, sandboxId, { requestId, exhaustedAt, idempotencyKey, fingerprint, request }) {
      const replayed = yield* replay(accountId, idempotencyKey, fingerprint)
      if (replayed !== null) return replayed
      const { generation, env: kept } = yield* findRunning(accountId, sandboxId, exhaustedAt)
      yield* requireRoom(sandboxId)
      const operationId = newOperationId()
      const at = yield* Clock.currentTimeMillis
      const payload: OperationPayload = {
        argv: request.argv,
        cwd: request.cwd,
        env: request.env,
        sandboxEnv: kept?.version ?? null,
        stdin: request.stdin === null ? null : Buffer.from(request.stdin, request.encoding).toString("base64")
      }
      const timeoutMs = request.timeoutSeconds === null ? null : millisecondsOf(request.timeoutSeconds)
      const created = yield* host.create(operationMachine, {
        id: operationId,
        accountId,
        sandboxId,
        input: { operationId, accountId, sandboxId, generation, timeoutMs, at },
        payload,
        cause: "client",
        requestId,
        idempotency: { kind: keyKind, key: idempotencyKey, fingerprint }
      })
      if (created === null) return (yield* replay(accountId, idempotencyKey, fingerprint))!
      // No output before the first run.
      return operationView({ status: created.value, context: created.context, payload }, { stdout: 0, stderr: 0 })
    },
    // Once stored, the operation itself keeps the Sandbox awake.
    (effect, _, sandboxId) => uses.during(sandboxId)(effect)
  )

  const wait: Operations["Service"]["wait"] = Effect.fn("Operations.wait")(
    function* (accountId, sandboxId, operationId, request) {
      const first = yield* find(accountId, sandboxId, operationId)
      const changes = yield* Queue.sliding<void>(1)
      const told = () => void Queue.offerUnsafe(changes, undefined)
      yield* host.onCommit(operationMachine, operationId, told)
      if (!host.owns(operationId))
        yield* Effect.forkScoped(host.follow(operationMachine, operationId, first.revision, told))
      yield* Effect.acquireRelease(
        Effect.sync(() => shutdown.onBegin(told)),
        (unheard) => Effect.sync(unheard)
      )
      if (request.stdoutOffset !== null || request.stderrOffset !== null) {
        yield* Effect.acquireRelease(
          Effect.sync(() => output.onAppend(operationId, told)),
          (stop) => Effect.sync(stop)
        )
      }
      // Monotonic, because the wall clock may be set meanwhile.
      const elapsedMs = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))
      const end = (yield* elapsedMs) + millisecondsOf(request.timeoutSeconds)
      while (true) {
        const operation = yield* view(yield* find(accountId, sandboxId, operationId))
        const left = end - (yield* elapsedMs)
        const isOver =
          left <= 0 ||
          shutdown.hasBegun() ||
          terminalStates.includes(operation.status) ||
          operation.status !== first.status ||
          (request.stdoutOffset !== null && operation.output.stdoutBytes > request.stdoutOffset) ||
          (request.stderrOffset !== null && operation.output.stderrBytes > request.stderrOffset)
        if (isOver) return operation
        yield* Effect.timeoutOption(Queue.take(changes), Math.min(askEveryMs, left))
      }
    },
    (effect) => Effect.scoped(effect)
  )

  return Operations.of({
    execute: Effect.fn("Operations.execute")(
      function* (accountId, sandboxId, request, { exhaustedAt }) {
        const { generation, env: kept } = yield* findRunning(accountId, sandboxId, exhaustedAt)
        const env = yield* envs.read(sandboxId, kept?.version ?? null)
        return yield* executions.run({ accountId, sandboxId, generation, env, request })
      },
      (effect, _, sandboxId) => uses.during(sandboxId)(effect)
    ),
    start,
    get: (accountId, sandboxId, operationId) => Effect.flatMap(find(accountId, sandboxId, operationId), view),
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
    output: Effect.fn("Operations.output")(function* (accountId, sandboxId, operationId, { stream, offset, limit }) {
      // The status is read first: if it was terminal before the read, no output follows.
      const { status, context } = yield* find(accountId, sandboxId, operationId)
      const page = yield* output.read(operationId, stream, offset, limit)
      return {
        stream,
        offset: page.offset,
        nextOffset: page.nextOffset,
        data: Buffer.from(page.bytes).toString("base64"),
        encoding: "base64" as const,
        truncated: page.truncated,
        eof: isSettled(status, context) && page.nextOffset >= page.totalBytes
      }
    }),
    follow: (accountId, sandboxId, operationId, from) =>
      Effect.map(find(accountId, sandboxId, operationId), () => readingOf(operationId, from)),
    wait,
    cancel: Effect.fn("Operations.cancel")(function* (accountId, sandboxId, operationId, { requestId }) {
      yield* find(accountId, sandboxId, operationId)
      yield* host.send(operationMachine, operationId, { type: "CANCEL" }, { cause: "client", requestId }).pipe(
        Effect.catchTags({
          EventRefused: Effect.die,
          ActorNotFound: () => Effect.fail(new NotFound()),
          MailboxFull: unavailable
        })
      )
      return yield* view(yield* find(accountId, sandboxId, operationId))
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
