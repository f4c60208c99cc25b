/** The Sandboxes service on actors: handlers ask here, the machine decides, the database answers. */

import { randomUUID } from "node:crypto"
import { Clock, Effect, Layer, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { createOutcome, ofThisVersion, sandboxMachine, startObstacle } from "../../machines/sandbox.ts"
import type { Changeable, SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import {
  AccountSuspended,
  type CreditExhausted,
  InvalidRequest,
  NotFound,
  SandboxLimitReached,
  SandboxUnavailable,
  ScopeRequired,
  StorageLimitReached,
  UnsupportedByRuntime
} from "../../schemas/Errors.ts"
import { requiredForVm } from "../../schemas/IdempotencyKey.ts"
import { pageDefault } from "../../schemas/Limits.ts"
import type { Sandbox } from "../../schemas/Sandbox.ts"
import { LiveConnections } from "../access/gateway/LiveConnections.ts"
import { accountLimits, type LimitsRow, ownLimitsOf } from "../account/AccountLimits.ts"
import { requireCredit } from "../account/Credit.ts"
import { isKeyTaken, keyIsTaken, takenKey } from "../account/idempotency/IdempotencyKeys.ts"
import { Settings } from "../Config.ts"
import type { ActorError, EventRefused, KeyContended } from "../engine/ActorError.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { awaitState } from "../engine/ActorWait.ts"
import { actorPosition, type ListBinding, openActorCursor, pageOf } from "../engine/Paging.ts"
import { transitionLog } from "../engine/TransitionLog.ts"
import { lockByKey } from "../platform/concurrency/lockByKey.ts"
import { newId } from "../platform/identifier/newId.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { Actors } from "../store/Actors.ts"
import { changeBegins } from "../store/Change.ts"
import { textColumn } from "../store/Columns.ts"
import { Journal } from "../store/Journal.ts"
import { encodeInsert } from "../store/JournalEncoding.ts"
import { insertActors } from "../store/JournalStatements.ts"
import { volumeBytesOf } from "../store/SnapshotFields.ts"
import { Dependents } from "./Dependents.ts"
import { ownSandbox, type SandboxRecord } from "./ownSandbox.ts"
import { type Place, Placement } from "./Placement.ts"
import { unavailable } from "./RunningSandbox.ts"
import { RunningWait } from "./RunningWait.ts"
import { sandboxDefinition } from "./SandboxDefinition.ts"
import { SandboxEnvs } from "./SandboxEnvs.ts"
import { Sandboxes, type SandboxFilter } from "./Sandboxes.ts"
import { sandboxView } from "./SandboxView.ts"
import { envAfter, lifetimeOf, metadataAfter } from "./sandboxChanges.ts"
import { sandboxHistory } from "./sandboxHistory.ts"
import { countedStates, goneStates, isGone, isUp, notStartingStates } from "./sandboxStates.ts"

const startAnswerMs = 20_000
const stopAnswerMs = 20_000
const deleteAnswerMs = 10_000
const dependentsAnswerMs = 2_000
const dependentsAskEveryMs = 5
const keyKind = "sandbox.create"

interface AccountRow extends LimitsRow {
  readonly is_suspended: boolean
  readonly exhausted_at: bigint | null
}

/** What the host lacks is not for clients. */
const noNetwork =
  "Sandboxes of this server cannot have a network: its host lacks what they need (atoll doctor tells the operator). Send networkEnabled false."

/** @source contract.md "Sandboxes": a create of a VM Sandbox needs a key. */
const requireKey = (key: string | null, runtime: "vm" | "namespace" | null): Effect.Effect<void, InvalidRequest> =>
  key === null && runtime === "vm"
    ? Effect.fail(new InvalidRequest({ details: { issues: [{ path: ["Idempotency-Key"], message: requiredForVm }] } }))
    : Effect.void

/** The key was claimed by another request between our look and our insert. */
class KeyClaimed extends Schema.TaggedError<KeyClaimed>()("KeyClaimed", {}) {}

const views = new WeakMap<SandboxRecord, Sandbox>()

const view = (record: SandboxRecord): Sandbox => {
  const known = views.get(record)
  if (known !== undefined) return known
  const made = sandboxView(record.status, record.context)
  views.set(record, made)
  return made
}

/** A limit found only during provisioning is the answer to every replay of the create. */
const limitOf = ({ statusReason }: Pick<Sandbox, "statusReason">) =>
  statusReason?.code === "STORAGE_LIMIT_REACHED"
    ? new StorageLimitReached({ message: statusReason.message, details: { limitBytes: null } })
    : new SandboxLimitReached({
        message: statusReason?.message ?? "A limit refused the Sandbox.",
        details: { limit: null }
      })

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
  const journal = yield* Journal
  const runtime = yield* Runtime
  const placement = yield* Placement
  const settings = yield* Settings
  const connections = yield* LiveConnections
  const runningWaitMs = yield* RunningWait
  const envs = yield* SandboxEnvs
  const sql = yield* SqlClient.SqlClient
  const withAccountLock = yield* lockByKey
  yield* host.register(yield* sandboxDefinition)

  const find = (accountId: string, sandboxId: string) => ownSandbox(actors, accountId, sandboxId)

  const wait = (id: string, states: ReadonlyArray<string>, timeoutMs: number) =>
    awaitState(sandboxMachine, id, (state) => states.includes(state.value), timeoutMs).pipe(
      Effect.provideService(ActorHost, host),
      Effect.provideService(Journal, journal),
      Effect.map((state) => sandboxView(state!.value, state!.context))
    )

  const untilStopping = Effect.callback<void>((resume) => {
    if (connections.isStopping()) return resume(Effect.void)
    const unheard = connections.onStop(() => resume(Effect.void))
    return Effect.sync(unheard)
  })

  /** Waits until a start has succeeded or failed; a service that stops answers with the present state. */
  const waitForStart = (id: string, timeoutMs: number) =>
    Effect.raceFirst(
      wait(id, notStartingStates, timeoutMs),
      Effect.andThen(untilStopping, wait(id, notStartingStates, 0))
    )

  /** Waits until all dependents of the Sandbox were told of its end, so that a caller sees the end everywhere. */
  const untilDependentsHeard = (id: string) =>
    journal.load(id).pipe(
      Effect.repeat({
        schedule: Schedule.spaced(dependentsAskEveryMs),
        until: (row) => row === null || !row.pending.some(({ type }) => type === "closeDependents")
      }),
      Effect.timeoutOption(dependentsAnswerMs)
    )

  // --- create -------------------------------------------------------------------------------------------------------

  const replay = Effect.fnUntraced(function* (accountId: string, key: string, fingerprint: string) {
    const known = yield* takenKey(sql, { accountId, kind: keyKind, key }, fingerprint)
    return known === null ? null : view(yield* find(accountId, known.targetId))
  })

  /** What a create is answered with, the first time if it waited, and every later time. */
  const createAnswer = (sandbox: Sandbox) => {
    const outcome = createOutcome(sandbox.status)
    return outcome === "refused"
      ? Effect.fail(limitOf(sandbox))
      : Effect.succeed({ sandbox, replayStatus: outcome === "waits" ? (202 as const) : (201 as const) })
  }

  const createAnswerOnceRunning = (sandbox: Sandbox) =>
    Effect.flatMap(
      notStartingStates.includes(sandbox.status) ? Effect.succeed(sandbox) : waitForStart(sandbox.id, runningWaitMs),
      createAnswer
    )

  const create: Sandboxes["Service"]["create"] = Effect.fn("Sandboxes.create")(function* ({
    accountId,
    requestId,
    idempotencyKey: givenKey,
    fingerprint,
    request,
    wait: waitsFor
  }) {
    yield* requireKey(givenKey, request.runtime ?? placement.usual)
    const idempotencyKey = givenKey ?? `unnamed ${randomUUID()}`
    const answer = waitsFor === "running" ? createAnswerOnceRunning : createAnswer
    const replayed = yield* replay(accountId, idempotencyKey, fingerprint)
    if (replayed !== null) return yield* answer(replayed)
    const [sandboxId, at] = [newId("sbx_"), yield* Clock.currentTimeMillis]
    const env = envs.name(request.env)
    const { sandboxVcpus: vcpus, sandboxMemoryBytes: memoryBytes, volumeBytes: diskBytes } = settings
    const prepare = ({ hostId, runtime }: Place) =>
      host.prepare(sandboxMachine, {
        id: sandboxId,
        accountId,
        sandboxId,
        input: {
          sandboxId,
          accountId,
          workspaceId: request.workspaceId,
          volumeId: newId("vol_"),
          hostId,
          name: request.name,
          runtime,
          profile: { vcpus, memoryBytes, diskBytes },
          networkEnabled: request.networkEnabled,
          metadata: request.metadata,
          env,
          lifetime: lifetimeOf(null, request.lifetime),
          bootTimeoutMs: settings.bootTimeoutMs,
          at
        },
        payload: null,
        cause: "client",
        requestId,
        idempotency: { kind: keyKind, key: idempotencyKey, fingerprint }
      })

    // Counting and inserting are one step for the whole account: its row is locked meanwhile, by whichever process. So what it says of
    // credit and limits is true at the commit, whatever the request's key brought along.
    const key = { accountId, kind: keyKind, key: idempotencyKey }
    const claim = Effect.gen(function* () {
      const [account] = yield* sql<AccountRow>`
        select suspended_at is not null as is_suspended, exhausted_at, sandboxes_limit, workspaces_limit, workspace_storage_bytes_limit
        from accounts where id = ${accountId} for no key update`
      const [workspace] =
        yield* sql`select 1 from workspaces where id = ${request.workspaceId} and account_id = ${accountId}`
      if (workspace === undefined) {
        // The key may have been claimed while we waited for the lock; a replay comes before every other answer.
        return yield* (yield* isKeyTaken(sql, key)) ? new KeyClaimed() : new NotFound()
      }
      const [used] = yield* sql<{ readonly count: number; readonly bytes: bigint; readonly key_taken: boolean }>`
        select count(*)::int4 as count,
               coalesce(sum(${sql.literal(volumeBytesOf("actors"))})
                 filter (where workspace_id = ${request.workspaceId}), 0)::int8 as bytes,
               ${keyIsTaken(sql, key)} as key_taken
        from actors
        where account_id = ${accountId} and kind = 'sandbox' and status = any(${textColumn(countedStates)}::text[])`
      if (used!.key_taken) return yield* new KeyClaimed()
      if (account!.is_suspended) return yield* new AccountSuspended()
      yield* requireCredit(account!.exhausted_at === null ? null : Number(account!.exhausted_at))
      const obstacle = request.networkEnabled ? runtime.capabilities.networkRefused() : null
      if (obstacle !== null) {
        return yield* new UnsupportedByRuntime({ message: noNetwork })
      }
      const limits = accountLimits(ownLimitsOf(account!), settings)
      if (used!.count >= limits.sandboxes) {
        return yield* new SandboxLimitReached({ details: { limit: limits.sandboxes } })
      }
      if (Number(used!.bytes) + diskBytes > limits.workspaceStorageBytes) {
        return yield* new StorageLimitReached({ details: { limitBytes: limits.workspaceStorageBytes } })
      }
      const { runtime: kind = null, networkEnabled } = request
      const wanted = { sandboxId, runtime: kind, networkEnabled, vcpus, memoryBytes, diskBytes }
      const placed = Effect.tap(placement.place(wanted), (place) => requireKey(givenKey, place.runtime))
      const inserted = prepare(yield* placed)
      yield* changeBegins
      const made = yield* insertActors(sql, [encodeInsert(inserted)], [requestId])
      if (made.size === 0) return yield* new KeyClaimed()
      if (env !== null) yield* envs.keep(sandboxId, env, request.env)
      return inserted
    })

    const inserted = yield* sql.withTransaction(claim).pipe(
      withAccountLock(accountId),
      Effect.catchTag("SqlError", Effect.die),
      Effect.catchTag("KeyClaimed", () => Effect.succeed(null)),
      Effect.uninterruptible
    )
    if (inserted === null) return yield* answer((yield* replay(accountId, idempotencyKey, fingerprint))!)
    yield* host.adopt(inserted)
    return yield* answer(sandboxView(inserted.row.snapshot.value, inserted.row.snapshot.context as SandboxContext))
  })

  // --- the rest -----------------------------------------------------------------------------------------------------

  /** Deleted meanwhile: not found. Otherwise the state does not allow the request: 502. */
  const refused = (code: string, status: string) =>
    code === "SANDBOX_DELETED" && isGone(status) ? new NotFound() : new SandboxUnavailable({ details: { status } })

  const refusals = {
    EventRefused: ({ code, state }: EventRefused) => Effect.fail(refused(code, state)),
    ActorNotFound: () => Effect.fail(new NotFound()),
    MailboxFull: unavailable
  }

  /** A client's request is decided on no older state than the one that was read for it. */
  const asked = ({ revision }: SandboxRecord, requestId: string) => ({ cause: "client", requestId, revision })

  const send = (record: SandboxRecord, type: "START" | "STOP" | "DELETE", requestId: string) =>
    host.send(sandboxMachine, record.id, { type }, asked(record, requestId)).pipe(Effect.catchTags(refusals))

  /** Null: another change was committed first. */
  const change = Effect.fnUntraced(function* (
    record: SandboxRecord,
    { request, requestId }: Parameters<Sandboxes["Service"]["update"]>[2]
  ) {
    const context = ofThisVersion(record.status, record.context)
    const { name, metadata, env, lifetime } = request
    const before = context.env
    const variables =
      env === undefined ? null : yield* envAfter(yield* envs.read(record.id, before?.version ?? null), env)
    const kept = variables === null ? before : envs.name(variables)
    const changes: Partial<Changeable> = {
      ...(name === undefined ? {} : { name }),
      ...(metadata === undefined ? {} : { metadata: yield* metadataAfter(context, metadata) }),
      ...(variables === null ? {} : { env: kept }),
      ...(lifetime === undefined ? {} : { lifetime: lifetimeOf(context.lifetime, lifetime) })
    }
    const isNew = variables !== null && kept !== null
    if (isNew) yield* envs.keep(record.id, kept, variables)
    const state = yield* host
      .send(sandboxMachine, record.id, { type: "CHANGED", edition: context.edition, changes }, asked(record, requestId))
      .pipe(
        Effect.tapError(() => (isNew ? envs.forget(record.id, kept.version) : Effect.void)),
        Effect.catchIf(
          (error) => error._tag === "EventRefused" && error.code === "STALE_CHANGE",
          () => Effect.succeed(null)
        ),
        Effect.catchTags(refusals)
      )
    if (state !== null && variables !== null && before !== null) yield* envs.forget(record.id, before.version)
    return state
  })

  const update: Sandboxes["Service"]["update"] = Effect.fn("Sandboxes.update")(
    function* (accountId, sandboxId, options) {
      const { request, mayDelete } = options
      if (typeof request.lifetime?.deleteAfterStoppedSeconds === "number" && !mayDelete) {
        return yield* ScopeRequired.of("sandbox:delete")
      }
      while (true) {
        const record = yield* find(accountId, sandboxId)
        if (isGone(record.status)) return yield* new NotFound()
        if (Object.keys(request).length === 0) return view(record)
        const state = yield* change(record, options)
        if (state !== null) return sandboxView(state.value, state.context)
      }
    }
  )

  const start: Sandboxes["Service"]["start"] = Effect.fn("Sandboxes.start")(function* (
    accountId,
    sandboxId,
    { requestId, idempotencyKey, exhaustedAt, wait: waitsFor }
  ) {
    const record = yield* find(accountId, sandboxId)
    if (isGone(record.status)) return yield* new NotFound()
    const answer = waitForStart(sandboxId, waitsFor === "running" ? runningWaitMs : startAnswerMs)
    const requireHost = placement
      .obstacle(sandboxId)
      .pipe(
        Effect.flatMap((message) =>
          message === null
            ? Effect.void
            : Effect.fail(new SandboxUnavailable({ message, details: { status: record.status } }))
        )
      )
    if (idempotencyKey === null) {
      yield* requireCredit(exhaustedAt)
      yield* requireHost
      const state = yield* send(record, "START", requestId)
      return isUp(state.value) ? sandboxView(state.value, state.context) : yield* booted(answer, record)
    }
    // The key is scoped to the Sandbox: a start has no 409, so the same key at another Sandbox is another start.
    const key = { kind: `sandbox.start:${sandboxId}`, key: idempotencyKey, fingerprint: sandboxId }
    // A key is taken by the commit of its START: one that is taken has nothing left to do.
    const startOnce: Effect.Effect<void, CreditExhausted | SandboxUnavailable | ActorError | KeyContended> =
      Effect.flatMap(isKeyTaken(sql, { accountId, ...key }), (taken) =>
        taken
          ? Effect.void
          : requireCredit(exhaustedAt).pipe(
              Effect.andThen(requireHost),
              Effect.andThen(
                host.sendOnce(sandboxMachine, sandboxId, { type: "START" }, asked(record, requestId), key)
              ),
              Effect.asVoid
            )
      )
    yield* startOnce.pipe(
      Effect.retry({ while: ({ _tag }) => _tag === "KeyContended" }),
      Effect.catchTag("KeyContended", Effect.die),
      Effect.catchTags(refusals)
    )
    return yield* booted(answer, record)
  })

  /** If a limit refused the boot, or its host was lost, the client gets that as the answer. */
  const booted = (answer: Effect.Effect<Sandbox>, before: SandboxRecord) =>
    settled(answer, before).pipe(
      Effect.filterOrFail(({ status, statusReason }) => startObstacle(status, statusReason) !== "limit", limitOf),
      Effect.filterOrFail(
        ({ status, statusReason }) => startObstacle(status, statusReason) !== "hostLost",
        ({ status, statusReason }) => new SandboxUnavailable({ message: statusReason!.message, details: { status } })
      )
    )

  /** A Sandbox that was deleted during the wait is not found. */
  const settled = (answer: Effect.Effect<Sandbox>, before: SandboxRecord) =>
    Effect.flatMap(answer, (sandbox) =>
      isGone(sandbox.status) && !isGone(before.status) ? Effect.fail(new NotFound()) : Effect.succeed(sandbox)
    )

  return Sandboxes.of({
    create,
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
      return { sandboxes: entries.map(view), nextCursor }
    }),
    get: (accountId, sandboxId) => Effect.map(find(accountId, sandboxId), view),
    update,
    start,
    stop: Effect.fn("Sandboxes.stop")(function* (accountId, sandboxId, { requestId }) {
      const record = yield* find(accountId, sandboxId)
      if (isGone(record.status)) return yield* new NotFound()
      yield* send(record, "STOP", requestId)
      const stopped = wait(sandboxId, notStartingStates, stopAnswerMs)
      return yield* settled(Effect.tap(stopped, untilDependentsHeard(sandboxId)), record)
    }),
    remove: Effect.fn("Sandboxes.remove")(function* (accountId, sandboxId, { requestId }) {
      const record = yield* find(accountId, sandboxId)
      if (isGone(record.status)) return
      yield* send(record, "DELETE", requestId)
      yield* wait(sandboxId, goneStates, deleteAnswerMs)
      yield* untilDependentsHeard(sandboxId)
    }),
    transitions: Effect.fn("Sandboxes.transitions")(function* (accountId, sandboxId, page) {
      const record = yield* find(accountId, sandboxId)
      const present = { ...record, context: ofThisVersion(record.status, record.context) }
      return yield* transitionLog(sandboxMachine, present, accountId, page).pipe(Effect.provideService(Actors, actors))
    }),
    history: Effect.fn("Sandboxes.history")(function* (accountId, sandboxId, page) {
      yield* find(accountId, sandboxId)
      return yield* sandboxHistory(accountId, sandboxId, page).pipe(Effect.provideService(SqlClient.SqlClient, sql))
    })
  })
})

export const SandboxesLive = Layer.effect(Sandboxes, make).pipe(Layer.provideMerge(Dependents.layer))
