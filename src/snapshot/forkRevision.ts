/** A fork at a revision: the newest snapshot at or before it, and what that does not contain. */
import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { InvalidRequest } from "../../schemas/Errors.ts"
import type { MissingInFork } from "../../schemas/Fork.ts"
import { missingOperationsMax } from "../../schemas/Limits.ts"
import { MemoryNotSupported, NoSnapshotAtRevision } from "../../schemas/SnapshotErrors.ts"
import { takeKey, takenKey } from "../account/idempotency/IdempotencyKeys.ts"
import { ownSandbox } from "../sandbox/ownSandbox.ts"
import { ownSnapshot } from "../sandbox/sandboxOrigin.ts"
import { Actors } from "../store/Actors.ts"
import { changeBegins } from "../store/Change.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { fieldOf } from "../store/SnapshotFields.ts"
import type { AskedSnapshot } from "./createSnapshot.ts"
import { usableSnapshotStates } from "./snapshotStates.ts"

const lastInstant = 9_223_372_036_854_775_807n

const wrong = (field: string, message: string) =>
  new InvalidRequest({ details: { issues: [{ path: [field], message }] } })

/** Several forks may be made of one snapshot: their Sandboxes have keys of their own. */
export const revisionForkKey = (snapshotId: string, idempotencyKey: string): string =>
  `${snapshotId} ${createHash("sha256").update(idempotencyKey).digest("hex").slice(0, 32)}`

type AskedFork = Pick<AskedSnapshot, "accountId" | "sandboxId" | "fingerprint" | "keyKind" | "request"> & {
  readonly idempotencyKey: string
}

export const forkRevision = Effect.gen(function* () {
  const actors = yield* Actors
  const sql = yield* SqlClient.SqlClient
  const revision = sql.literal(fieldOf("actors", "sandboxRevision", "int8"))

  const findSnapshots = SqlSchema.findOne({
    Request: Schema.Struct({ sandboxId: Schema.String, atRevision: Schema.Int }),
    Result: Schema.Struct({ id: Schema.NullOr(Schema.String), oldest: Schema.NullOr(Int8) }),
    execute: ({ sandboxId, atRevision }) => sql`
      with usable as (
        select id, created_at, ${revision} as revision from actors
        where sandbox_id = ${sandboxId} and kind = 'snapshot' and ended_at is null
          and status = any(${textColumn(usableSnapshotStates)}::text[])
      )
      select (select id from usable where revision <= ${atRevision}::int8 order by revision desc, created_at desc, id desc limit 1) as id,
        (select min(revision) from usable) as oldest`
  })

  /** Of the time while that revision was the present one, the whole counts. */
  const findEnd = SqlSchema.findOne({
    Request: Schema.Struct({ sandboxId: Schema.String, atRevision: Schema.Int }),
    Result: Schema.Struct({ at: Schema.NullOr(Schema.BigInt) }),
    execute: ({ sandboxId, atRevision }) => sql`
      select max(at) as at from transitions where actor_id = ${sandboxId} and revision = ${atRevision}::int8 + 1`
  })
  const findOperations = SqlSchema.findAll({
    Request: Schema.Struct({ sandboxId: Schema.String, from: Schema.BigInt, to: Schema.BigInt }),
    Result: Schema.Struct({ id: Schema.String, total: Schema.Int }),
    execute: ({ sandboxId, from, to }) => sql`
      select id, (count(*) over ())::int4 as total from actors
      where sandbox_id = ${sandboxId} and kind = 'operation'
        and ((created_at >= ${from} and created_at < ${to}) or (ended_at >= ${from} and ended_at < ${to}))
      order by created_at desc, id desc limit ${missingOperationsMax}::int4`
  })

  /** Stores the key with the snapshot that is taken, so a repetition takes the same one. */
  const claim = Effect.fnUntraced(function* (asked: AskedFork, snapshotId: string) {
    const { accountId, keyKind: kind, idempotencyKey: key, fingerprint } = asked
    yield* changeBegins
    yield* takeKey(sql, { accountId, kind, key }, { fingerprint, targetId: snapshotId, response: null })
    return (yield* takenKey(sql, { accountId, kind, key }, fingerprint))?.targetId ?? snapshotId
  })

  /** The snapshot for the fork, of this call or of the first one with its key. */
  const source = Effect.fnUntraced(function* (asked: AskedFork, atRevision: number) {
    const { accountId, sandboxId, keyKind: kind, idempotencyKey: key, fingerprint, request } = asked
    const known = yield* takenKey(sql, { accountId, kind, key }, fingerprint)
    if (known !== null) return (yield* ownSnapshot(actors, accountId, known.targetId)).context
    const sandbox = yield* ownSandbox(actors, accountId, sandboxId)
    if (request.memory) return yield* new MemoryNotSupported()
    if (request.expiresAt != null) return yield* wrong("expiresAt", "A fork at a revision takes no snapshot.")
    if (atRevision > sandbox.revision) {
      return yield* wrong("atRevision", `The Sandbox is at revision ${sandbox.revision}.`)
    }
    const { id, oldest } = yield* Effect.orDie(findSnapshots({ sandboxId, atRevision }))
    if (id === null) return yield* new NoSnapshotAtRevision({ details: { oldestRevision: oldest } })
    return (yield* ownSnapshot(actors, accountId, yield* claim(asked, id))).context
  })

  const missing = Effect.fnUntraced(function* (sandboxId: string, snapshot: SnapshotContext, atRevision: number) {
    const { sandboxRevision, createdAt } = snapshot
    const { at } = yield* Effect.orDie(findEnd({ sandboxId, atRevision }))
    const found = yield* Effect.orDie(findOperations({ sandboxId, from: BigInt(createdAt), to: at ?? lastInstant }))
    return {
      transitions: atRevision - sandboxRevision,
      operations: found.map(({ id }) => id),
      operationCount: found[0]?.total ?? 0
    } satisfies MissingInFork
  })

  return { source, missing }
})
