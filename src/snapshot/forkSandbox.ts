/**
 * Fork: one snapshot, and Sandboxes that are made of it. Each Sandbox has a key that is derived from the snapshot, so a fork that was cut off goes on
 * when it is repeated. Its answer's refusals are kept with the fork's key: later repetitions tell the same.
 */
import { Clock, Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { InvalidRequest } from "../../schemas/Errors.ts"
import { type ForkRequest, type ForkResponse, RefusedFork } from "../../schemas/Fork.ts"
import { forkSnapshotSeconds } from "../../schemas/Limits.ts"
import type { CreateSandboxRequest, Sandbox } from "../../schemas/Sandbox.ts"
import { ownSandbox } from "../sandbox/ownSandbox.ts"
import { Sandboxes } from "../sandbox/Sandboxes.ts"
import { recordView } from "../sandbox/SandboxView.ts"
import { Actors } from "../store/Actors.ts"
import { textColumn } from "../store/Columns.ts"
import { createSnapshot } from "./createSnapshot.ts"
import type { Snapshots } from "./Snapshots.ts"
import { snapshotView } from "./SnapshotView.ts"

const forkKind = "sandbox.fork"
const childKind = "sandbox.fork.child"

/** What is kept with the fork's key once each Sandbox was made or refused. */
const Kept = Schema.Struct({ refused: Schema.Array(RefusedFork) })

const childKey = (snapshotId: string, index: number) => `${snapshotId} ${index}`

const tooManyNames = new InvalidRequest({
  details: { issues: [{ path: ["names"], message: "Expected at most as many names as count says." }] }
})

const childOf = (source: SnapshotContext, request: ForkRequest, index: number): CreateSandboxRequest => {
  const name = request.names?.[index]
  return {
    workspaceId: source.workspaceId,
    name: name === undefined ? source.sandboxName : name,
    networkEnabled: source.networkEnabled,
    metadata: request.metadata ?? source.metadata,
    env: {},
    lifetime: request.lifetime ?? source.lifetime,
    snapshotId: source.snapshotId
  }
}

/** What is known of a fork that was made before. */
const knownForks = Effect.gen(function* () {
  const actors = yield* Actors
  const sql = yield* SqlClient.SqlClient

  const findKept = SqlSchema.findAll({
    Request: Schema.Struct({ accountId: Schema.String, key: Schema.String }),
    Result: Schema.Struct({ response: Schema.NullOr(Kept) }),
    execute: ({ accountId, key }) =>
      sql`select response from idempotency_keys where account_id = ${accountId} and kind = ${forkKind} and key = ${key}`
  })
  const findChildren = SqlSchema.findAll({
    Request: Schema.Struct({ accountId: Schema.String, keys: Schema.Array(Schema.String) }),
    Result: Schema.Struct({ key: Schema.String, targetId: Schema.String }),
    execute: ({ accountId, keys }) => sql`
      select key, target_id as "targetId" from idempotency_keys
      where account_id = ${accountId} and kind = ${childKind} and key = any(${textColumn(keys)}::text[])`
  })

  const keptOf = (accountId: string, key: string) =>
    Effect.map(Effect.orDie(findKept({ accountId, key })), ([row]) => row?.response ?? null)

  /** The Sandboxes that a finished fork made, in order. Those whose records are no longer kept are left out. */
  const childrenOf = Effect.fnUntraced(function* (accountId: string, snapshotId: string, count: number) {
    const keys = Array.from({ length: count }, (_, index) => childKey(snapshotId, index))
    const found = new Map(
      (yield* Effect.orDie(findChildren({ accountId, keys }))).map(({ key, targetId }) => [key, targetId])
    )
    const views: Array<Sandbox> = []
    for (const id of keys.flatMap((key) => found.get(key) ?? [])) {
      const view = yield* ownSandbox(actors, accountId, id).pipe(
        Effect.map(recordView),
        Effect.catchTag("NOT_FOUND", () => Effect.succeed(null))
      )
      if (view !== null) views.push(view)
    }
    return views
  })

  return { keptOf, childrenOf }
})

export const forkSandbox = Effect.gen(function* () {
  const sandboxes = yield* Sandboxes
  const actors = yield* Actors
  const sql = yield* SqlClient.SqlClient
  const take = yield* createSnapshot
  const { keptOf, childrenOf } = yield* knownForks

  const fork: Snapshots["Service"]["fork"] = Effect.fn("Snapshots.fork")(function* (
    accountId,
    sandboxId,
    { requestId, idempotencyKey, fingerprint, request }
  ) {
    const { count, names, memory } = request
    if ((names?.length ?? 0) > count) return yield* tooManyNames
    const expiresAt = request.expiresAt ?? (yield* Clock.currentTimeMillis) + forkSnapshotSeconds * 1000
    const { context } = yield* take({
      ...{ accountId, sandboxId, requestId, idempotencyKey, fingerprint, keyKind: forkKind },
      request: { name: null, memory, expiresAt }
    })
    const { snapshotId } = context
    const answer = Effect.fnUntraced(function* (refused: ForkResponse["refused"]) {
      const snapshot = yield* Effect.orDie(actors.read(snapshotId))
      return {
        snapshot: snapshotView(snapshot!.status, snapshot!.context as SnapshotContext),
        sandboxes: yield* childrenOf(accountId, snapshotId, count),
        refused
      }
    })
    const known = yield* keptOf(accountId, idempotencyKey)
    if (known !== null) return yield* answer(known.refused)
    const refused: Array<RefusedFork> = []
    for (let index = 0; index < count; index++) {
      const error = yield* sandboxes
        .createFork({
          ...{ accountId, requestId, fingerprint },
          idempotencyKey: childKey(snapshotId, index),
          request: childOf(context, request, index)
        })
        .pipe(
          Effect.as(null),
          Effect.catch((error) => Effect.succeed(error))
        )
      if (error !== null) refused.push({ index, code: error._tag, message: error.message })
    }
    yield* Effect.orDie(sql`
      update idempotency_keys set response = ${JSON.stringify({ refused })}::jsonb
      where account_id = ${accountId} and kind = ${forkKind} and key = ${idempotencyKey} and response is null`)
    return yield* answer((yield* keptOf(accountId, idempotencyKey))?.refused ?? refused)
  })
  return fork
})
