/** Create: one snapshot for each Idempotency-Key, within the account's limits. */
import { randomUUID } from "node:crypto"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ofThisVersion } from "../../machines/sandboxVersions.ts"
import { type SnapshotInput, snapshotMachine } from "../../machines/snapshot.ts"
import type { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { InvalidRequest } from "../../schemas/Errors.ts"
import type { CreateSnapshotRequest } from "../../schemas/Snapshot.ts"
import { MemoryNotSupported, SandboxNotCapturable } from "../../schemas/SnapshotErrors.ts"
import { claimKey } from "../account/idempotency/claimKey.ts"
import { takenKey } from "../account/idempotency/IdempotencyKeys.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { newId } from "../platform/identifier/newId.ts"
import { ownLivingSandbox, type SandboxRecord } from "../sandbox/ownSandbox.ts"
import { Placement } from "../sandbox/Placement.ts"
import { SandboxEnvs } from "../sandbox/SandboxEnvs.ts"
import { ownSnapshot } from "../sandbox/sandboxOrigin.ts"
import { hasMemory, isCapturable, isRestartable } from "../sandbox/sandboxStates.ts"
import { Actors } from "../store/Actors.ts"
import { changeBegins } from "../store/Change.ts"
import { encodeInsert } from "../store/JournalEncoding.ts"
import { insertActors } from "../store/JournalStatements.ts"
import { snapshotQuota } from "./snapshotQuota.ts"

export interface AskedSnapshot {
  readonly accountId: string
  readonly sandboxId: string
  /** Null: the Sandbox asks for a checkpoint. */
  readonly requestId: string | null
  readonly idempotencyKey: string | null
  /** A fork's key also says what became of its Sandboxes. */
  readonly keyKind: "snapshot.create" | "sandbox.fork" | "sandbox.checkpoint"
  readonly fingerprint: string
  readonly request: CreateSnapshotRequest
  /** The rollback that takes it; null: a client does. */
  readonly rollbackId: string | null
}

/** `expiresAt` in epoch milliseconds. */
export const requireFuture = (expiresAt: number | null | undefined): Effect.Effect<void, InvalidRequest> =>
  expiresAt == null
    ? Effect.void
    : Effect.flatMap(Clock.currentTimeMillis, (now) =>
        expiresAt > now
          ? Effect.void
          : Effect.fail(
              new InvalidRequest({
                details: { issues: [{ path: ["expiresAt"], message: "Expected an instant in the future." }] }
              })
            )
      )

const isCheckpoint = ({ keyKind }: AskedSnapshot): boolean => keyKind === "sandbox.checkpoint"

/** A start or a stop may have come since a checkpoint was due: its host makes the image before it or after it. */
const mayBeCaptured = (asked: AskedSnapshot, status: string, { startedAt }: SandboxContext): boolean =>
  (asked.request.memory ? hasMemory(status) : isCapturable(status)) ||
  (isCheckpoint(asked) && isRestartable(status) && startedAt !== null)

const inputOf = (
  made: Pick<SnapshotInput, "snapshotId" | "hostId" | "env" | "at">,
  asked: AskedSnapshot,
  { revision }: SandboxRecord,
  sandbox: SandboxContext
): SnapshotInput => ({
  ...made,
  accountId: asked.accountId,
  workspaceId: sandbox.workspaceId,
  sandboxId: sandbox.sandboxId,
  sandboxRevision: revision,
  generation: sandbox.generation,
  name: asked.request.name,
  expiresAt: asked.request.expiresAt ?? null,
  checkpoint: isCheckpoint(asked),
  runtime: sandbox.runtime,
  profile: sandbox.profile,
  networkEnabled: sandbox.networkEnabled,
  sandboxName: sandbox.name,
  metadata: sandbox.metadata,
  lifetime: sandbox.lifetime,
  image: sandbox.image,
  memory: asked.request.memory,
  rollbackId: asked.rollbackId
})

export const insertSnapshot = Effect.gen(function* () {
  const host = yield* ActorHost
  const envs = yield* SandboxEnvs
  const placement = yield* Placement
  const sql = yield* SqlClient.SqlClient
  const requireQuota = yield* snapshotQuota

  /** Counting and inserting are one step for the whole account. */
  return Effect.fnUntraced(function* (asked: AskedSnapshot, key: string, record: SandboxRecord, at: number) {
    const { accountId, keyKind: kind, requestId, fingerprint } = asked
    const sandbox = ofThisVersion(record.status, record.context)
    const snapshotId = newId("snp_")
    yield* requireQuota({ accountId, kind, key }, sandbox.workspaceId)
    if (!mayBeCaptured(asked, record.status, sandbox))
      return yield* new SandboxNotCapturable({ details: { status: record.status } })
    const variables = yield* envs.read(record.id, sandbox.env?.version ?? null)
    const env = envs.name(variables)
    const hostId = yield* placement.hostOf(record.id)
    const inserted = host.prepare(snapshotMachine, {
      id: snapshotId,
      accountId,
      sandboxId: record.id,
      input: inputOf({ snapshotId, hostId, env, at }, asked, record, sandbox),
      payload: null,
      cause: isCheckpoint(asked) ? "sandbox" : "client",
      requestId,
      idempotency: { kind, key, fingerprint }
    })
    if (!isCheckpoint(asked)) yield* changeBegins
    const made = yield* insertActors(sql, [encodeInsert(inserted)], [requestId ?? snapshotId])
    if (made.size === 0) return null
    if (env !== null) yield* envs.keep(snapshotId, env, variables)
    return inserted
  })
})

export const createSnapshot = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const placement = yield* Placement
  const sql = yield* SqlClient.SqlClient
  const claimed = yield* claimKey
  const insert = yield* insertSnapshot

  const replay = Effect.fnUntraced(function* (asked: AskedSnapshot, key: string) {
    const { accountId, keyKind: kind, fingerprint } = asked
    const known = yield* takenKey(sql, { accountId, kind, key }, fingerprint)
    return known === null ? null : yield* ownSnapshot(actors, accountId, known.targetId)
  })

  /** The snapshot as it was accepted; of a repeated key, as it is now. */
  return Effect.fnUntraced(function* (asked: AskedSnapshot) {
    const { accountId, sandboxId, request } = asked
    const key = asked.idempotencyKey ?? `unnamed ${randomUUID()}`
    const replayed = yield* replay(asked, key)
    if (replayed !== null) return { status: replayed.status, context: replayed.context }
    const record = yield* ownLivingSandbox(actors, accountId, sandboxId)
    if (request.memory && !(yield* placement.keepsMemory(sandboxId))) return yield* new MemoryNotSupported()
    yield* requireFuture(request.expiresAt)
    const at = yield* Clock.currentTimeMillis
    const inserted = yield* Effect.uninterruptible(claimed(accountId, insert(asked, key, record, at)))
    if (inserted === null) {
      const other = (yield* replay(asked, key))!
      return { status: other.status, context: other.context }
    }
    yield* host.adopt(inserted)
    const { value, context } = inserted.row.snapshot
    return { status: value, context: context as SnapshotContext }
  })
})
