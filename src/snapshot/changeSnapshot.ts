/** PATCH and DELETE of a snapshot. */
import { Effect } from "effect"
import { snapshotMachine } from "../../machines/snapshot.ts"
import type { ChangeableSnapshot } from "../../schemas/contexts/Snapshot.ts"
import { NotFound, SandboxUnavailable, ScopeRequired } from "../../schemas/Errors.ts"
import { SnapshotNotReady } from "../../schemas/SnapshotErrors.ts"
import type { EventRefused } from "../engine/ActorError.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { awaitState } from "../engine/ActorWait.ts"
import { ownSnapshot } from "../sandbox/sandboxOrigin.ts"
import { Actors } from "../store/Actors.ts"
import type { Journal } from "../store/Journal.ts"
import { requireFuture } from "./createSnapshot.ts"
import type { Snapshots } from "./Snapshots.ts"
import { snapshotView } from "./SnapshotView.ts"
import { isSnapshotGone } from "./snapshotStates.ts"

const deleteAnswerMs = 10_000

/** 502: its mailbox takes nothing more for now. */
const unavailable = () => Effect.fail(new SandboxUnavailable({ details: { status: null } }))

const refused = ({ state }: EventRefused) =>
  isSnapshotGone(state) ? new NotFound() : new SnapshotNotReady({ details: { status: state } })

export const changeSnapshot = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const services = yield* Effect.context<ActorHost | Journal>()

  const update: Snapshots["Service"]["update"] = Effect.fn("Snapshots.update")(function* (
    accountId,
    snapshotId,
    { requestId, request, mayDelete }
  ) {
    if (typeof request.expiresAt === "number") {
      if (!mayDelete) return yield* ScopeRequired.of("sandbox:delete")
      yield* requireFuture(request.expiresAt)
    }
    const changes: Partial<ChangeableSnapshot> = { ...request }
    while (true) {
      const record = yield* ownSnapshot(actors, accountId, snapshotId)
      if (isSnapshotGone(record.status)) return yield* new NotFound()
      if (Object.keys(changes).length === 0) return snapshotView(record.status, record.context)
      const { edition } = record.context
      const state = yield* host
        .send(
          snapshotMachine,
          snapshotId,
          { type: "CHANGED", edition, changes },
          { cause: "client", requestId, revision: record.revision }
        )
        .pipe(
          Effect.catchTags({
            // Another change was committed first: this one is made again on top of it. Its outcome is the same.
            EventRefused: (error) =>
              error.code === "STALE_CHANGE" ? Effect.succeed(null) : Effect.fail(refused(error)),
            ActorNotFound: () => Effect.fail(new NotFound()),
            MailboxFull: unavailable
          })
        )
      if (state !== null) return snapshotView(state.value, state.context)
    }
  })

  const remove: Snapshots["Service"]["remove"] = Effect.fn("Snapshots.remove")(function* (
    accountId,
    snapshotId,
    { requestId }
  ) {
    const { status, revision } = yield* ownSnapshot(actors, accountId, snapshotId)
    if (isSnapshotGone(status)) return
    yield* host.send(snapshotMachine, snapshotId, { type: "DELETE" }, { cause: "client", requestId, revision }).pipe(
      Effect.catchTags({
        EventRefused: Effect.die,
        ActorNotFound: () => Effect.fail(new NotFound()),
        MailboxFull: unavailable
      })
    )
    yield* awaitState(snapshotMachine, snapshotId, ({ value }) => isSnapshotGone(value), deleteAnswerMs).pipe(
      Effect.provideContext(services)
    )
  })

  return { update, remove }
})
