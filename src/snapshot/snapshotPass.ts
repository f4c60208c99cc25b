/**
 * The reconciler of the snapshots of one host: removes images that no snapshot has, such as the unfinished one of a killed service, or the late one of a
 * capture that seemed to fail; and tells snapshots whose image the host does not have any more, and which copy takes its place.
 */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { snapshotMachine } from "../../machines/snapshot.ts"
import { publicText } from "../../schemas/PublicText.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import type { RuntimeUnavailable, Snapshots } from "../runtime/Runtime.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { fieldOf } from "../store/SnapshotFields.ts"
import { isSnapshotImageless, usableSnapshotStates } from "./snapshotStates.ts"

/** Log lines of one pass name at most so many images: the host decides how many it lists. */
const namedMax = 64

const lost = { code: "SNAPSHOT_LOST", message: publicText`Its host does not have the image any more.` }

type Compared = Pick<Snapshots, "inventory" | "remove"> & {
  /** The host whose copy takes the place of a lost image; null: there is none. Absent: hosts have no copies. */
  readonly promoted?: (snapshotId: string, from: string) => Effect.Effect<string | null>
}

export const snapshotPass = Effect.gen(function* () {
  const host = yield* ActorHost
  const sql = yield* SqlClient.SqlClient

  const findUsable = SqlSchema.findAll({
    Request: Schema.NullOr(Schema.String),
    Result: Schema.Struct({ id: Schema.String, revision: Int8 }),
    execute: (hostId) => sql`
      select id, revision from actors where kind = 'snapshot' and ended_at is null
        and status = any(${textColumn(usableSnapshotStates)}::text[])
        and ${sql.literal(fieldOf("actors", "hostId", "text"))} is not distinct from ${hostId}::text`
  })
  const findKnown = SqlSchema.findAll({
    Request: Schema.Array(Schema.String),
    Result: Schema.Struct({ id: Schema.String, status: Schema.String }),
    execute: (ids) =>
      sql`select id, status from actors where kind = 'snapshot' and id = any(${textColumn(ids)}::text[])`
  })

  /**
   * One pass.
   * @param hostId As the snapshots name their host; null: the service's only host.
   */
  return Effect.fnUntraced(function* (hostId: string | null, snapshots: Compared) {
    // Snapshots first, then the images: one that is made in between does not look lost. Then the owners of the images: each was stored before.
    const usable = yield* Effect.orDie(findUsable(hostId))
    const images = yield* snapshots.inventory
    const known = new Map((yield* Effect.orDie(findKnown(images))).map(({ id, status }) => [id, status]))
    const orphans = images.filter((id) => !known.has(id) || isSnapshotImageless(known.get(id)!))
    for (const [index, id] of orphans.entries()) {
      if (index < namedMax) yield* Effect.logWarning(`Removing the image ${id}, which no snapshot needs`)
      // A failed removal must not block the others.
      yield* snapshots
        .remove(id, hostId)
        .pipe(
          Effect.catch((error: RuntimeUnavailable) =>
            index < namedMax ? Effect.logWarning(`The image ${id} is not removed yet`, error.message) : Effect.void
          )
        )
    }
    const there = new Set(images)
    for (const { id, revision } of usable) {
      if (there.has(id)) continue
      const copyOn = hostId === null ? null : yield* snapshots.promoted?.(id, hostId) ?? Effect.succeed(null)
      yield* copyOn === null
        ? Effect.logError(`The image of ${id} is missing on its host`)
        : Effect.logWarning(`The copy of ${id} on the host ${copyOn} takes the place of that on ${hostId}`)
      const event =
        copyOn === null || hostId === null
          ? { type: "SNAPSHOT_LOST" as const, reason: lost }
          : { type: "MOVED" as const, hostId, to: copyOn }
      yield* host
        .send(snapshotMachine, id, event, { cause: "runtime", revision })
        .pipe(Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.void))
    }
  })
})

export type SnapshotPass = Effect.Success<typeof snapshotPass>
