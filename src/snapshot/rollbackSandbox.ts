/**
 * Rollback: the volume of a snapshot replaces that of the Sandbox, which first becomes a snapshot itself.
 *
 * One transaction stores the rollback and the snapshot to come. Then the Sandbox is asked: the commit of that event takes the Idempotency-Key. What was
 * stored for an event that was refused is taken back; after a crash in between it is without effect (`untilStopped.ts`, `snapshotNeeds.ts`).
 */
import { randomUUID } from "node:crypto"
import { Clock, Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { sandboxMachine } from "../../machines/sandbox.ts"
import { snapshotMachine } from "../../machines/snapshot.ts"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { NotFound, SandboxUnavailable, ScopeRequired } from "../../schemas/Errors.ts"
import { keptSnapshotSeconds } from "../../schemas/Limits.ts"
import { SandboxCannotRollBack, SnapshotDoesNotFit } from "../../schemas/SnapshotErrors.ts"
import { requireCredit } from "../account/Credit.ts"
import { takenKey } from "../account/idempotency/IdempotencyKeys.ts"
import type { EventRefused } from "../engine/ActorError.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { readActor } from "../engine/readActor.ts"
import { lockByKey } from "../platform/concurrency/lockByKey.ts"
import { asked } from "../sandbox/askSandbox.ts"
import { ownLivingSandbox, type SandboxRecord } from "../sandbox/ownSandbox.ts"
import { recordView } from "../sandbox/SandboxView.ts"
import { ownSnapshot, sandboxOrigin } from "../sandbox/sandboxOrigin.ts"
import { isCapturable, isGone } from "../sandbox/sandboxStates.ts"
import { Actors } from "../store/Actors.ts"
import { insertSnapshot } from "./createSnapshot.ts"
import type { Snapshots } from "./Snapshots.ts"
import { snapshotView } from "./SnapshotView.ts"

type Rollback = Snapshots["Service"]["rollback"]
type Options = Parameters<Rollback>[2]

const kind = "sandbox.rollback"
const keptName = "Before a rollback"
/** Shorter than the snapshot waits for its Sandbox to stop (`untilStopped.ts`). */
const preparedForMs = 30_000

const unfit = (detail: SnapshotDoesNotFit["details"]["differs"], message: string) =>
  new SnapshotDoesNotFit({ message, details: { differs: detail } })

const refused = ({ state }: EventRefused) =>
  isGone(state) ? new NotFound() : new SandboxCannotRollBack({ details: { status: state } })

const requireFit = ({ context }: SandboxRecord, snapshot: SnapshotContext) => {
  if (snapshot.workspaceId !== context.workspaceId) {
    return Effect.fail(
      unfit("workspace", "The snapshot is of another workspace. Choose one of the Sandbox's workspace.")
    )
  }
  if (snapshot.runtime !== context.runtime) {
    return Effect.fail(
      unfit("runtime", `The snapshot's runtime is ${snapshot.runtime}, and the Sandbox's is ${context.runtime}.`)
    )
  }
  const { diskBytes } = snapshot.profile
  return diskBytes <= context.profile.diskBytes
    ? Effect.void
    : Effect.fail(
        unfit(
          "disk",
          `The snapshot's volume has ${diskBytes} bytes, more than the Sandbox's. Make that as large first.`
        )
      )
}

/** The table of rollbacks. */
const stored = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const findKept = SqlSchema.findAll({
    Request: Schema.Struct({ sandboxId: Schema.String, key: Schema.String }),
    Result: Schema.Struct({ keptId: Schema.NullOr(Schema.String) }),
    execute: ({ sandboxId, key }) => sql`
      select kept_id as "keptId" from sandbox_rollbacks where sandbox_id = ${sandboxId} and key = ${key}
      order by created_at desc limit 1`
  })
  const findPrepared = SqlSchema.findAll({
    Request: Schema.Struct({ sandboxId: Schema.String, key: Schema.String, since: Schema.BigInt }),
    Result: Schema.Struct({
      rollbackId: Schema.String,
      snapshotId: Schema.String,
      keptId: Schema.NullOr(Schema.String)
    }),
    execute: ({ sandboxId, key, since }) => sql`
      select rollback_id as "rollbackId", snapshot_id as "snapshotId", kept_id as "keptId" from sandbox_rollbacks
      where sandbox_id = ${sandboxId} and key = ${key} and done_at is null and created_at > ${since}
      order by created_at desc limit 1`
  })
  return {
    /** What a request with this key stored that was cut off before it asked the Sandbox, or that is about to ask. */
    preparedOf: Effect.fnUntraced(function* (sandboxId: string, { idempotencyKey: key, request }: Options) {
      if (key === null) return null
      const since = BigInt((yield* Clock.currentTimeMillis) - preparedForMs)
      const [row] = yield* Effect.orDie(findPrepared({ sandboxId, key, since }))
      const isSame = row?.snapshotId === request.snapshotId && (row.keptId !== null) === request.keep
      return isSame ? row : null
    }),
    /** The snapshot of an earlier call with this key; null: it made none, or is not known any more. */
    keptOf: (sandboxId: string, key: string) =>
      Effect.map(Effect.orDie(findKept({ sandboxId, key })), ([row]) => row?.keptId ?? null),
    note: (
      rollbackId: string,
      sandboxId: string,
      snapshot: SnapshotContext,
      { keptId, key, at }: { readonly keptId: string | null; readonly key: string | null; readonly at: number }
    ) => sql`
      insert into sandbox_rollbacks (rollback_id, sandbox_id, snapshot_id, source_id, kept_id, key, created_at)
      values (${rollbackId}, ${sandboxId}, ${snapshot.snapshotId}, ${snapshot.sandboxId}, ${keptId}, ${key}, ${BigInt(at)})`,
    forget: (rollbackId: string) => Effect.orDie(sql`delete from sandbox_rollbacks where rollback_id = ${rollbackId}`)
  }
})

/** The one transaction: the rollback, and the snapshot of the present volume. */
const prepareRollback = Effect.gen(function* () {
  const host = yield* ActorHost
  const sql = yield* SqlClient.SqlClient
  const withAccountLock = yield* lockByKey
  const insert = yield* insertSnapshot
  const origins = yield* sandboxOrigin
  const rollbacks = yield* stored

  return Effect.fnUntraced(function* (record: SandboxRecord, snapshot: SnapshotContext, options: Options) {
    const { id: sandboxId, accountId } = record
    const { requestId, idempotencyKey, fingerprint, request } = options
    const rollbackId = randomUUID()
    const at = yield* Clock.currentTimeMillis
    const prepare = Effect.gen(function* () {
      // Requests with the same key share what the first one stores.
      yield* sql`select 1 from accounts where id = ${accountId} for no key update`
      const prepared = yield* rollbacks.preparedOf(sandboxId, options)
      if (prepared !== null) return { ...prepared, kept: null }
      const key = `unnamed ${rollbackId}`
      const kept = request.keep
        ? yield* insert(
            {
              ...{ accountId, sandboxId, requestId, fingerprint, rollbackId, idempotencyKey: key },
              keyKind: "snapshot.create",
              request: { name: keptName, memory: false, expiresAt: at + keptSnapshotSeconds * 1000 }
            },
            key,
            record,
            at
          )
        : null
      // After the account's lock, as a create does.
      yield* origins.lock(snapshot, false)
      const keptId = kept?.row.id ?? null
      yield* rollbacks.note(rollbackId, sandboxId, snapshot, { keptId, key: idempotencyKey, at })
      return { rollbackId, keptId, kept }
    })
    const { kept, ...prepared } = yield* sql.withTransaction(prepare).pipe(
      withAccountLock(accountId),
      // `requireReady` has seen that it is capturable, and no other request has this key.
      Effect.catchTag(["SqlError", "KeyClaimed", "SANDBOX_NOT_CAPTURABLE"], Effect.die),
      Effect.uninterruptible
    )
    if (kept !== null) yield* host.adopt(kept)
    return { rollbackId: prepared.rollbackId, keptId: prepared.keptId }
  })
})

interface Prepared {
  readonly rollbackId: string
  readonly keptId: string | null
  readonly requestId: string
}

const takingBack = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const rollbacks = yield* stored

  /** Whether another request with the same key has asked the Sandbox with this. */
  const isAsked = (sandboxId: string, rollbackId: string) =>
    Effect.map(
      readActor(actors, sandboxMachine, sandboxId),
      (record) => record?.context.rollback?.rollbackId === rollbackId
    )

  const forgotten = ({ rollbackId, keptId, requestId }: Prepared) =>
    Effect.andThen(
      rollbacks.forget(rollbackId),
      keptId === null
        ? Effect.void
        : host
            .send(snapshotMachine, keptId, { type: "DELETE" }, { cause: "service", requestId, revision: 0 })
            .pipe(Effect.catchTag(["EventRefused", "ActorNotFound", "MailboxFull"], () => Effect.void))
    )

  /** What was stored for a request that the Sandbox did not take. */
  return (sandboxId: string, { rollbackId, keptId, requestId }: Prepared) =>
    Effect.flatMap(isAsked(sandboxId, rollbackId), (asked) =>
      asked ? Effect.void : forgotten({ rollbackId, keptId, requestId })
    )
})

export const rollbackSandbox = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const sql = yield* SqlClient.SqlClient
  const prepare = yield* prepareRollback
  const takeBack = yield* takingBack
  const rollbacks = yield* stored

  const answer = Effect.fnUntraced(function* (accountId: string, sandboxId: string, keptId: string | null) {
    const sandbox = recordView(yield* ownLivingSandbox(actors, accountId, sandboxId))
    if (keptId === null) return { sandbox, kept: null }
    return yield* ownSnapshot(actors, accountId, keptId).pipe(
      Effect.map(({ status, context }) => ({ sandbox, kept: snapshotView(status, context) })),
      Effect.catchTag("NOT_FOUND", () => Effect.succeed({ sandbox, kept: null }))
    )
  })

  const requireReady = Effect.fnUntraced(function* (record: SandboxRecord, { request, exhaustedAt }: Options) {
    const snapshot = (yield* ownSnapshot(actors, record.accountId, request.snapshotId)).context
    yield* requireFit(record, snapshot)
    if (!isCapturable(record.status)) return yield* new SandboxCannotRollBack({ details: { status: record.status } })
    yield* requireCredit(exhaustedAt)
    return snapshot
  })

  const isTaken = (accountId: string, { idempotencyKey: key, fingerprint }: Options) =>
    key === null
      ? Effect.succeed(false)
      : Effect.map(takenKey(sql, { accountId, kind, key }, fingerprint), (taken) => taken !== null)

  /** Undefined: another request with this key was first. */
  const rollOnce = Effect.fnUntraced(function* (accountId: string, sandboxId: string, options: Options) {
    const { requestId, idempotencyKey, fingerprint, request } = options
    const record = yield* ownLivingSandbox(actors, accountId, sandboxId)
    const snapshot = yield* requireReady(record, options)
    const { rollbackId, keptId } = yield* prepare(record, snapshot, options)
    const event = { type: "ROLLBACK", rollbackId, snapshotId: request.snapshotId, keptId } as const
    const delivery = asked(record, requestId)
    const sent =
      idempotencyKey === null
        ? host.send(sandboxMachine, sandboxId, event, delivery)
        : host.sendOnce(sandboxMachine, sandboxId, event, delivery, { kind, key: idempotencyKey, fingerprint })
    const isSent = yield* sent.pipe(
      Effect.as(true),
      // Another request with this key may be about to ask with the same.
      Effect.tapError(({ _tag }) =>
        _tag === "KeyContended" ? Effect.void : takeBack(sandboxId, { rollbackId, keptId, requestId })
      ),
      Effect.catchTags({
        KeyContended: () => Effect.succeed(false),
        EventRefused: (error) =>
          Effect.flatMap(isTaken(accountId, options), (taken) =>
            taken ? Effect.succeed(false) : Effect.fail(refused(error))
          ),
        ActorNotFound: () => Effect.fail(new NotFound()),
        MailboxFull: () => Effect.fail(new SandboxUnavailable({ details: { status: record.status } }))
      })
    )
    return isSent ? keptId : undefined
  })

  const rollback: Rollback = Effect.fn("Snapshots.rollback")(function* (accountId, sandboxId, options) {
    const { idempotencyKey: key, request, mayDelete } = options
    if (!request.keep && !mayDelete) return yield* ScopeRequired.of("sandbox:delete")
    while (true) {
      if (key !== null && (yield* isTaken(accountId, options))) {
        return yield* answer(accountId, sandboxId, yield* rollbacks.keptOf(sandboxId, key))
      }
      const keptId = yield* rollOnce(accountId, sandboxId, options)
      if (keptId !== undefined) return yield* answer(accountId, sandboxId, keptId)
    }
  })
  return rollback
})
