/**
 * The Sandbox in which an image is built: made before the image. Until that is inserted it belongs to the request (`BuildLeases`), then to the image's
 * actor. Its lifetime ends it if all else fails.
 */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { InvalidRequest, UnsupportedByRuntime } from "../../../schemas/Errors.ts"
import { nameMaxCharacters } from "../../../schemas/Limits.ts"
import type { GivenProfile } from "../../../schemas/SandboxProfile.ts"
import { Settings } from "../../Config.ts"
import { Runtime } from "../../runtime/Runtime.ts"
import { BuildLeases, type HeldBuild } from "../../sandbox/BuildLeases.ts"
import { Sandboxes } from "../../sandbox/Sandboxes.ts"
import { ownSnapshot } from "../../sandbox/sandboxOrigin.ts"
import { untilDone } from "../../sandbox/untilDone.ts"
import { Actors } from "../../store/Actors.ts"

/** Besides the build's own time: its boot, the context, and its archive. */
const spareSeconds = 3600
const keptStoppedSeconds = 60

export interface BuilderWanted {
  readonly accountId: string
  readonly requestId: string
  readonly imageId: string
  /** Of the image; null: it has none. */
  readonly name: string | null
  readonly workspaceId: string | null
  readonly snapshotId: string | null
  readonly profile: GivenProfile | null
}

const withMemory = new InvalidRequest({
  details: {
    issues: [
      {
        path: ["contextSnapshotId"],
        message: "The snapshot has memory. Send one without: a build needs its files only."
      }
    ]
  }
})

const noWorkspace = new InvalidRequest({
  details: {
    issues: [{ path: ["workspaceId"], message: "The account has no workspace. Create one, and send its id." }]
  }
})

export const buildSandbox = Effect.gen(function* () {
  const scope = yield* Effect.scope
  const sandboxes = yield* Sandboxes
  const actors = yield* Actors
  const runtime = yield* Runtime
  const leases = yield* BuildLeases
  const sql = yield* SqlClient.SqlClient
  const { buildSecondsMax } = yield* Settings

  const findOldest = SqlSchema.findAll({
    Request: Schema.String,
    Result: Schema.Struct({ id: Schema.String }),
    execute: (accountId) =>
      sql`select id from workspaces where account_id = ${accountId} order by created_at, id limit 1`
  })

  const workspaceOf = Effect.fnUntraced(function* ({ accountId, workspaceId, snapshotId }: BuilderWanted) {
    const snapshot = snapshotId === null ? null : (yield* ownSnapshot(actors, accountId, snapshotId)).context
    if (snapshot?.memory === true) return yield* withMemory
    const known = workspaceId ?? snapshot?.workspaceId
    if (known !== undefined) return known
    const [oldest] = yield* Effect.orDie(findOldest(accountId))
    return oldest === undefined ? yield* noWorkspace : oldest.id
  })

  /** Fails with UNSUPPORTED where no host can build. */
  const requireHost = Effect.flatMap(runtime.images.buildObstacle, (obstacle) =>
    obstacle === null ? Effect.void : Effect.fail(new UnsupportedByRuntime({ message: obstacle }))
  )

  const tryRemove = (accountId: string, imageId: string, sandboxId: string) =>
    sandboxes.remove(accountId, sandboxId, { requestId: imageId }).pipe(
      Effect.catchTag("NOT_FOUND", () => Effect.void),
      Effect.tapError((error) =>
        Effect.logWarning(`The Sandbox ${sandboxId} of a build is not deleted yet`, error.message)
      )
    )

  /** Tried until the deletion is committed. */
  const remove = (accountId: string, imageId: string, sandboxId: string) =>
    tryRemove(accountId, imageId, sandboxId).pipe(Effect.retry(untilDone), Effect.orDie)

  return {
    requireHost,
    create: Effect.fnUntraced(function* (wanted: BuilderWanted) {
      yield* requireHost
      const { accountId, requestId, imageId, name, snapshotId, profile } = wanted
      return yield* sandboxes.createBuilder({
        ...{ accountId, requestId, imageId },
        request: {
          workspaceId: yield* workspaceOf(wanted),
          name: [...`build of ${name ?? imageId}`].slice(0, nameMaxCharacters).join(""),
          ...(profile === null ? {} : { profile }),
          networkEnabled: true,
          metadata: {},
          env: {},
          lifetime: {
            stopAfterSeconds: buildSecondsMax + spareSeconds,
            stopAfterIdleSeconds: null,
            deleteAfterStoppedSeconds: keptStoppedSeconds
          },
          ...(snapshotId === null ? {} : { snapshotId })
        }
      })
    }),
    remove,
    /** Deletes that of a build that was given up, or fails: the next pass of the reconciler tries again. */
    end: ({ accountId, imageId, sandboxId }: HeldBuild) =>
      Effect.andThen(tryRemove(accountId, imageId, sandboxId), leases.forget(sandboxId)),
    /** The same in the background, tried until it is done: of a request that is refused. */
    leave: (accountId: string, imageId: string, sandboxId: string) =>
      Effect.asVoid(
        Effect.forkIn(Effect.andThen(remove(accountId, imageId, sandboxId), leases.forget(sandboxId)), scope)
      )
  }
})
