/**
 * The snapshot of which a new Sandbox's volume is made: read before the create's transaction, and checked again within it.
 *
 * The transaction locks the snapshot's row, after the account's. So a deletion of the snapshot commits either before, and the create is refused, or
 * after, and sees the Sandbox that still needs the image.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { snapshotMachine } from "../../machines/snapshot.ts"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { InvalidRequest, NotFound } from "../../schemas/Errors.ts"
import type { CreateSandboxRequest } from "../../schemas/Sandbox.ts"
import { SnapshotNotReady } from "../../schemas/SnapshotErrors.ts"
import { readActor } from "../engine/readActor.ts"
import { isTagged } from "../engine/taggedStates.ts"
import { type ActorRecord, Actors } from "../store/Actors.ts"

const isUsable = isTagged(snapshotMachine, "bootable")
const isAwaited = isTagged(snapshotMachine, "awaited")

/** The snapshot as committed, also a deleted one. NotFound: another account's, or none. */
export const ownSnapshot = (actors: Actors["Service"], accountId: string, snapshotId: string) =>
  Effect.flatMap(
    readActor(actors, snapshotMachine, snapshotId),
    (record): Effect.Effect<ActorRecord<SnapshotContext>, NotFound> =>
      record?.accountId === accountId ? Effect.succeed(record) : Effect.fail(new NotFound())
  )

const otherRuntime = (runtime: SnapshotContext["runtime"]) =>
  new InvalidRequest({
    details: { issues: [{ path: ["runtime"], message: `The snapshot's runtime is ${runtime}. Send that, or none.` }] }
  })

export const sandboxOrigin = Effect.gen(function* () {
  const actors = yield* Actors
  const sql = yield* SqlClient.SqlClient

  return {
    /** Null: the volume starts empty. */
    read: Effect.fnUntraced(function* (
      accountId: string,
      { snapshotId, runtime }: Pick<CreateSandboxRequest, "snapshotId" | "runtime">
    ) {
      if (snapshotId == null) return null
      const { context } = yield* ownSnapshot(actors, accountId, snapshotId)
      if (runtime != null && runtime !== context.runtime) return yield* otherRuntime(context.runtime)
      return context
    }),

    /** @param mayWait The snapshot may still be being made: the first boot waits for it. */
    lock: Effect.fnUntraced(function* ({ snapshotId }: SnapshotContext, mayWait: boolean) {
      const [row] = yield* sql<{
        readonly status: string
      }>`select status from actors where id = ${snapshotId} for share`
      const status = row?.status ?? null
      if (isUsable(status) || (mayWait && isAwaited(status))) return
      return yield* status === null ? new NotFound() : new SnapshotNotReady({ details: { status } })
    }),

    /** In the transaction that inserts the Sandbox. An imported snapshot has no source here. */
    note: (sandboxId: string, { snapshotId, sandboxId: sourceId }: SnapshotContext, at: number) =>
      sql`insert into sandbox_origins (sandbox_id, snapshot_id, source_id, created_at)
        values (${sandboxId}, ${snapshotId}, ${sourceId ?? ""}, ${BigInt(at)})`
  }
})
