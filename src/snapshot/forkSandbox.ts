/**
 * Fork: one snapshot, new or of an earlier revision, and Sandboxes that are made of it. Each Sandbox has a key that is derived from the snapshot, so a
 * fork that was cut off goes on when it is repeated. A Sandbox that is refused takes its key with the refusal: of two calls with one key, neither makes
 * what the other one refused. What the fork answers is kept with its own key: later repetitions tell the same.
 */
import { Clock, Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { InvalidRequest } from "../../schemas/Errors.ts"
import { type ForkRequest, MissingInFork, RefusedFork } from "../../schemas/Fork.ts"
import { forkSnapshotSeconds } from "../../schemas/Limits.ts"
import type { CreateSandboxRequest, Sandbox } from "../../schemas/Sandbox.ts"
import { takeKey } from "../account/idempotency/IdempotencyKeys.ts"
import { ownSandbox } from "../sandbox/ownSandbox.ts"
import { Sandboxes } from "../sandbox/Sandboxes.ts"
import { recordView } from "../sandbox/SandboxView.ts"
import { Actors } from "../store/Actors.ts"
import { textColumn } from "../store/Columns.ts"
import { type AskedSnapshot, createSnapshot } from "./createSnapshot.ts"
import { forkRevision, revisionForkKey } from "./forkRevision.ts"
import type { Snapshots } from "./Snapshots.ts"
import { snapshotView } from "./SnapshotView.ts"

const forkKind = "sandbox.fork"
const childKind = "sandbox.fork.child"

/** What is kept with the fork's key once each Sandbox was made or refused. */
const Kept = Schema.Struct({
  refused: Schema.Array(RefusedFork),
  /** Absent: of a fork that an older version made. */
  missing: Schema.optionalKey(Schema.NullOr(MissingInFork))
})

/** `fork` tells the forks apart: the snapshot's id, or more where several are made of one snapshot. */
const childKey = (fork: string, index: number) => `${fork} ${index}`

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
    Result: Schema.Struct({ key: Schema.String, targetId: Schema.String, refused: Schema.NullOr(RefusedFork) }),
    execute: ({ accountId, keys }) => sql`
      select key, target_id as "targetId", response as refused from idempotency_keys
      where account_id = ${accountId} and kind = ${childKind} and key = any(${textColumn(keys)}::text[])`
  })

  const keptOf = (accountId: string, key: string) =>
    Effect.map(Effect.orDie(findKept({ accountId, key })), ([row]) => row?.response ?? null)

  /** What became of each so far, in order. */
  const outcomesOf = Effect.fnUntraced(function* (accountId: string, fork: string, count: number) {
    const keys = Array.from({ length: count }, (_, index) => childKey(fork, index))
    const found = new Map((yield* Effect.orDie(findChildren({ accountId, keys }))).map((child) => [child.key, child]))
    return keys.flatMap((key) => found.get(key) ?? [])
  })

  /** The Sandboxes that a finished fork made, in order. Those whose records are no longer kept are left out. */
  const childrenOf = Effect.fnUntraced(function* (accountId: string, fork: string, count: number) {
    const views: Array<Sandbox> = []
    for (const { targetId, refused } of yield* outcomesOf(accountId, fork, count)) {
      if (refused !== null) continue
      const view = yield* ownSandbox(actors, accountId, targetId).pipe(
        Effect.map(recordView),
        Effect.catchTag("NOT_FOUND", () => Effect.succeed(null))
      )
      if (view !== null) views.push(view)
    }
    return views
  })

  const refusedOf = (accountId: string, fork: string, count: number) =>
    Effect.map(outcomesOf(accountId, fork, count), (all) => all.flatMap(({ refused }) => refused ?? []))

  return { keptOf, childrenOf, refusedOf }
})

export const forkSandbox = Effect.gen(function* () {
  const sandboxes = yield* Sandboxes
  const actors = yield* Actors
  const sql = yield* SqlClient.SqlClient
  const take = yield* createSnapshot
  const earlier = yield* forkRevision
  const { keptOf, childrenOf, refusedOf } = yield* knownForks

  /** Its snapshot, the beginning of its children's keys, and what is not in it. */
  const sourceOf = Effect.fnUntraced(function* (
    asked: Omit<AskedSnapshot, "request"> & { readonly idempotencyKey: string },
    { memory, expiresAt, atRevision }: ForkRequest
  ) {
    if (atRevision != null) {
      const context = yield* earlier.source(
        { ...asked, request: { name: null, memory, expiresAt: expiresAt ?? null } },
        atRevision
      )
      const fork = revisionForkKey(context.snapshotId, asked.idempotencyKey)
      return { context, fork, missing: earlier.missing(asked.sandboxId, context, atRevision) }
    }
    const until = expiresAt ?? (yield* Clock.currentTimeMillis) + forkSnapshotSeconds * 1000
    const { context } = yield* take({ ...asked, request: { name: null, memory, expiresAt: until } })
    return { context, fork: context.snapshotId, missing: Effect.succeed(null) }
  })

  const fork: Snapshots["Service"]["fork"] = Effect.fn("Snapshots.fork")(function* (
    accountId,
    sandboxId,
    { requestId, idempotencyKey, fingerprint, request }
  ) {
    const { count, names } = request
    if ((names?.length ?? 0) > count) return yield* tooManyNames
    const given = { accountId, sandboxId, fingerprint, keyKind: forkKind, idempotencyKey, rollbackId: null } as const
    const { context, fork, missing } = yield* sourceOf({ ...given, requestId }, request)
    const { snapshotId } = context
    const answer = Effect.fnUntraced(function* (kept: typeof Kept.Type) {
      const snapshot = yield* Effect.orDie(actors.read(snapshotId))
      return {
        snapshot: snapshotView(snapshot!.status, snapshot!.context as SnapshotContext),
        sandboxes: yield* childrenOf(accountId, fork, count),
        refused: kept.refused,
        missing: kept.missing ?? null
      }
    })
    const known = yield* keptOf(accountId, idempotencyKey)
    if (known !== null) return yield* answer(known)
    for (let index = 0; index < count; index++) {
      const error = yield* sandboxes
        .createFork({
          ...{ accountId, requestId, fingerprint },
          idempotencyKey: childKey(fork, index),
          request: childOf(context, request, index)
        })
        .pipe(
          Effect.as(null),
          Effect.catch((error) => Effect.succeed(error))
        )
      if (error === null) continue
      const refusal: RefusedFork = { index, code: error._tag, message: error.message }
      const key = { accountId, kind: childKind, key: childKey(fork, index) }
      yield* takeKey(sql, key, { fingerprint, targetId: snapshotId, response: refusal })
    }
    const made = { refused: yield* refusedOf(accountId, fork, count), missing: yield* missing }
    yield* Effect.orDie(sql`
      update idempotency_keys set response = ${JSON.stringify(made)}::jsonb
      where account_id = ${accountId} and kind = ${forkKind} and key = ${idempotencyKey} and response is null`)
    return yield* answer((yield* keptOf(accountId, idempotencyKey)) ?? made)
  })
  return fork
})
