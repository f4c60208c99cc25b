/** Checkpoints: snapshots that a Sandbox takes by itself, and that are deleted in favour of newer ones. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { sandboxMachine } from "../../machines/sandbox.ts"
import { ofThisVersion } from "../../machines/sandboxVersions.ts"
import { isPassing, snapshotMachine } from "../../machines/snapshot.ts"
import { checkpointsKeepDefault } from "../../schemas/Limits.ts"
import { committedReason, publicText } from "../../schemas/PublicText.ts"
import { isKeyTaken } from "../account/idempotency/IdempotencyKeys.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { readActor } from "../engine/readActor.ts"
import type { CheckpointActs } from "../sandbox/Checkpoints.ts"
import { volumelessStates } from "../sandbox/sandboxStates.ts"
import { Actors } from "../store/Actors.ts"
import { Int8 } from "../store/Columns.ts"
import { fieldOf } from "../store/SnapshotFields.ts"
import { createSnapshot } from "./createSnapshot.ts"
import { isSnapshotAwaited, isSnapshotRemoved, isSnapshotUsable } from "./snapshotStates.ts"

const checkpointName = "checkpoint"
const keyKind = "sandbox.checkpoint"

const noSandbox = { code: "NOT_FOUND", message: publicText`The Sandbox is deleted.` }
const isSlow = { code: "CHECKPOINT_IN_PROGRESS", message: publicText`The checkpoint before is still being made.` }

const Found = Schema.Struct({ id: Schema.String, status: Schema.String, revision: Int8 })
type Found = typeof Found.Type

/** Newest first. Of those whose capture failed, only one that is the newest of all stays, to tell so. */
const superseded = (found: ReadonlyArray<Found>, keep: number): ReadonlyArray<Found> => {
  let ready = 0
  return found.filter(({ status }, index) => {
    if (isSnapshotAwaited(status)) return false
    if (!isSnapshotUsable(status)) return index > 0
    ready++
    return ready > keep
  })
}

export const supersedeCheckpoints = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const sql = yield* SqlClient.SqlClient

  const findCheckpoints = SqlSchema.findAll({
    Request: Schema.String,
    Result: Schema.Struct({ ...Found.fields, edition: Schema.Int }),
    execute: (sandboxId) => sql`
      select id, status, revision, ${sql.literal(fieldOf("actors", "edition", "int4"))} as edition from actors
      where sandbox_id = ${sandboxId} and kind = 'snapshot' and ended_at is null
        and ${sql.literal(fieldOf("actors", "checkpoint", "text"))} = 'true'
      order by created_at desc, id desc`
  })

  const supersede = (found: ReadonlyArray<Found>) =>
    Effect.forEach(
      found,
      ({ id, revision }) =>
        host
          .send(snapshotMachine, id, { type: "SUPERSEDED" }, { cause: "cascade", revision })
          // A client has changed it, or it is gone.
          .pipe(
            Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.void),
            Effect.orDie
          ),
      { concurrency: 16, discard: true }
    )

  const passing = (sandboxId: string) =>
    Effect.map(Effect.orDie(findCheckpoints(sandboxId)), (found) =>
      found.filter(({ status, edition }) => !isSnapshotRemoved(status) && isPassing({ checkpoint: true, edition }))
    )

  const drop: CheckpointActs["drop"] = (sandboxId) => Effect.flatMap(passing(sandboxId), supersede)

  /** Those that are over the number that the Sandbox keeps; all of them once the Sandbox is deleted. */
  const trim = Effect.fnUntraced(function* (sandboxId: string) {
    const sandbox = yield* readActor(actors, sandboxMachine, sandboxId)
    if (sandbox === null || volumelessStates.includes(sandbox.status)) return yield* drop(sandboxId)
    const { checkpoints } = ofThisVersion(sandbox.status, sandbox.context)
    yield* supersede(superseded(yield* passing(sandboxId), checkpoints?.keep ?? checkpointsKeepDefault))
  })

  const isTaking = (sandboxId: string) =>
    Effect.map(passing(sandboxId), (found) => found.some(({ status }) => isSnapshotAwaited(status)))

  return { drop, trim, isTaking }
})

/** As `CheckpointActs`: a limit that refuses a client's snapshot refuses a checkpoint, too. */
export const takeCheckpoint = Effect.gen(function* () {
  const actors = yield* Actors
  const sql = yield* SqlClient.SqlClient
  const { isTaking } = yield* supersedeCheckpoints
  const take = yield* createSnapshot

  const taken: CheckpointActs["take"] = Effect.fn("Checkpoints.take")(function* (sandboxId, key) {
    const sandbox = yield* readActor(actors, sandboxMachine, sandboxId)
    if (sandbox === null) return yield* Effect.fail(noSandbox)
    const { accountId } = sandbox
    const idempotencyKey = `${sandboxId} ${key}`
    const isRepeated = yield* isKeyTaken(sql, { accountId, kind: keyKind, key: idempotencyKey })
    // On a host that does not answer they would use up the account's number of snapshots.
    if (!isRepeated && (yield* isTaking(sandboxId))) return yield* Effect.fail(isSlow)
    const { context } = yield* take({
      ...{ accountId, sandboxId, idempotencyKey, keyKind },
      requestId: null,
      rollbackId: null,
      fingerprint: key,
      request: { name: checkpointName, memory: false, expiresAt: null }
    }).pipe(Effect.mapError(({ _tag, message }) => committedReason({ code: _tag, message })))
    return { snapshotId: context.snapshotId }
  })
  return taken
})
