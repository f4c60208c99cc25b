/** The Snapshots service on actors. */
import { Effect, Layer } from "effect"
import { snapshotMachine, snapshotOfThisVersion } from "../../machines/snapshot.ts"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { actorPosition, type ListBinding, openActorCursor, pageOf } from "../lists/Paging.ts"
import { transitionLog } from "../lists/TransitionLog.ts"
import { Checkpoints } from "../sandbox/Checkpoints.ts"
import { ownSnapshot } from "../sandbox/sandboxOrigin.ts"
import { type ActorRecord, Actors } from "../store/Actors.ts"
import { changeSnapshot } from "./changeSnapshot.ts"
import { createSnapshot } from "./createSnapshot.ts"
import { exportSnapshot } from "./exportSnapshot.ts"
import { forkSandbox } from "./forkSandbox.ts"
import { importSnapshot } from "./importSnapshot.ts"
import { rollbackSandbox } from "./rollbackSandbox.ts"
import { snapshotDefinition } from "./SnapshotDefinition.ts"
import { type SnapshotFilter, Snapshots } from "./Snapshots.ts"
import { SnapshotTransfers } from "./SnapshotTransfers.ts"
import { snapshotView } from "./SnapshotView.ts"
import { supersedeCheckpoints, takeCheckpoint } from "./sandboxCheckpoints.ts"
import { sandboxLineage } from "./sandboxLineage.ts"

const bindingOf = (accountId: string, { sandboxId, status }: SnapshotFilter): ListBinding => [
  accountId,
  "snapshots",
  sandboxId,
  status?.toSorted() ?? null
]

const viewOf = ({ status, context }: Pick<ActorRecord<SnapshotContext>, "status" | "context">) =>
  snapshotView(status, context)

const make = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  yield* host.register(yield* snapshotDefinition)
  const take = yield* createSnapshot
  const { drop } = yield* supersedeCheckpoints
  yield* (yield* Checkpoints).provide({ take: yield* takeCheckpoint, drop })

  return Snapshots.of({
    create: Effect.fn("Snapshots.create")((accountId, sandboxId, options) =>
      Effect.map(take({ accountId, sandboxId, keyKind: "snapshot.create", rollbackId: null, ...options }), viewOf)
    ),
    list: Effect.fn("Snapshots.list")(function* (accountId, filter) {
      const list = bindingOf(accountId, filter)
      const before = yield* openActorCursor(list, filter.cursor)
      const { sandboxId, status, limit } = filter
      const found = yield* actors.list({ kind: "snapshot", accountId, sandboxId, status, before, limit: limit + 1 })
      const { entries, nextCursor } = pageOf(list, found, limit, actorPosition)
      return { snapshots: (entries as ReadonlyArray<ActorRecord<SnapshotContext>>).map(viewOf), nextCursor }
    }),
    get: (accountId, snapshotId) => Effect.map(ownSnapshot(actors, accountId, snapshotId), viewOf),
    ...(yield* changeSnapshot),
    transitions: Effect.fn("Snapshots.transitions")(function* (accountId, snapshotId, page) {
      const record = yield* ownSnapshot(actors, accountId, snapshotId)
      const present = { ...record, context: snapshotOfThisVersion(record.status, record.context) }
      return yield* transitionLog(snapshotMachine, present, accountId, page).pipe(Effect.provideService(Actors, actors))
    }),
    export: yield* exportSnapshot,
    import: yield* importSnapshot,
    fork: yield* forkSandbox,
    rollback: yield* rollbackSandbox,
    lineage: yield* sandboxLineage
  })
})

export const SnapshotsLive = Layer.effect(Snapshots, make).pipe(Layer.provide(SnapshotTransfers.layer))
