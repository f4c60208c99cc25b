/** Create: one snapshot for each Idempotency-Key, within the account's limits. */
import { randomUUID } from "node:crypto"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ofThisVersion } from "../../machines/sandbox.ts"
import { type SnapshotInput, snapshotMachine } from "../../machines/snapshot.ts"
import type { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { InvalidRequest } from "../../schemas/Errors.ts"
import type { CreateSnapshotRequest } from "../../schemas/Snapshot.ts"
import { MemoryNotSupported, SandboxNotCapturable } from "../../schemas/SnapshotErrors.ts"
import { takenKey } from "../account/idempotency/IdempotencyKeys.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { lockByKey } from "../platform/concurrency/lockByKey.ts"
import { newId } from "../platform/identifier/newId.ts"
import { ownLivingSandbox, type SandboxRecord } from "../sandbox/ownSandbox.ts"
import { Placement } from "../sandbox/Placement.ts"
import { SandboxEnvs } from "../sandbox/SandboxEnvs.ts"
import { ownSnapshot } from "../sandbox/sandboxOrigin.ts"
import { isCapturable } from "../sandbox/sandboxStates.ts"
import { Actors } from "../store/Actors.ts"
import { changeBegins } from "../store/Change.ts"
import { encodeInsert } from "../store/JournalEncoding.ts"
import { insertActors } from "../store/JournalStatements.ts"
import { snapshotQuota } from "./snapshotQuota.ts"

export interface AskedSnapshot {
  readonly accountId: string
  readonly sandboxId: string
  readonly requestId: string
  readonly idempotencyKey: string | null
  /** A fork's key also says what became of its Sandboxes. */
  readonly keyKind: "snapshot.create" | "sandbox.fork"
  readonly fingerprint: string
  readonly request: CreateSnapshotRequest
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

const inputOf = (
  made: Pick<SnapshotInput, "snapshotId" | "hostId" | "env" | "at">,
  { request, accountId }: AskedSnapshot,
  { revision }: SandboxRecord,
  sandbox: SandboxContext
): SnapshotInput => ({
  ...made,
  accountId,
  workspaceId: sandbox.workspaceId,
  sandboxId: sandbox.sandboxId,
  sandboxRevision: revision,
  generation: sandbox.generation,
  name: request.name,
  expiresAt: request.expiresAt ?? null,
  runtime: sandbox.runtime,
  profile: sandbox.profile,
  networkEnabled: sandbox.networkEnabled,
  sandboxName: sandbox.name,
  metadata: sandbox.metadata,
  lifetime: sandbox.lifetime,
  memory: request.memory
})

export const createSnapshot = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const envs = yield* SandboxEnvs
  const placement = yield* Placement
  const sql = yield* SqlClient.SqlClient
  const withAccountLock = yield* lockByKey
  const requireQuota = yield* snapshotQuota

  const replay = Effect.fnUntraced(function* (asked: AskedSnapshot, key: string) {
    const { accountId, keyKind: kind, fingerprint } = asked
    const known = yield* takenKey(sql, { accountId, kind, key }, fingerprint)
    return known === null ? null : yield* ownSnapshot(actors, accountId, known.targetId)
  })

  /** Counting and inserting are one step for the whole account. */
  const claim = Effect.fnUntraced(function* (asked: AskedSnapshot, key: string, record: SandboxRecord, at: number) {
    const { accountId, keyKind: kind, requestId, fingerprint } = asked
    const sandbox = ofThisVersion(record.status, record.context)
    const snapshotId = newId("snp_")
    yield* requireQuota({ accountId, kind, key }, sandbox.workspaceId)
    if (!isCapturable(record.status)) return yield* new SandboxNotCapturable({ details: { status: record.status } })
    const variables = yield* envs.read(record.id, sandbox.env?.version ?? null)
    const env = envs.name(variables)
    const hostId = yield* placement.hostOf(record.id)
    const inserted = host.prepare(snapshotMachine, {
      id: snapshotId,
      accountId,
      sandboxId: record.id,
      input: inputOf({ snapshotId, hostId, env, at }, asked, record, sandbox),
      payload: null,
      cause: "client",
      requestId,
      idempotency: { kind, key, fingerprint }
    })
    yield* changeBegins
    const made = yield* insertActors(sql, [encodeInsert(inserted)], [requestId])
    if (made.size === 0) return null
    if (env !== null) yield* envs.keep(snapshotId, env, variables)
    return inserted
  })

  /** The snapshot as it was accepted; of a repeated key, as it is now. */
  return Effect.fnUntraced(function* (asked: AskedSnapshot) {
    const { accountId, sandboxId, request } = asked
    const key = asked.idempotencyKey ?? `unnamed ${randomUUID()}`
    const replayed = yield* replay(asked, key)
    if (replayed !== null) return { status: replayed.status, context: replayed.context }
    const record = yield* ownLivingSandbox(actors, accountId, sandboxId)
    if (request.memory) return yield* new MemoryNotSupported()
    yield* requireFuture(request.expiresAt)
    const at = yield* Clock.currentTimeMillis
    const inserted = yield* sql.withTransaction(claim(asked, key, record, at)).pipe(
      withAccountLock(accountId),
      Effect.catchTag("SqlError", Effect.die),
      Effect.catchTag("KeyClaimed", () => Effect.succeed(null)),
      Effect.uninterruptible
    )
    if (inserted === null) {
      const other = (yield* replay(asked, key))!
      return { status: other.status, context: other.context }
    }
    yield* host.adopt(inserted)
    const { value, context } = inserted.row.snapshot
    return { status: value, context: context as SnapshotContext }
  })
})
