/** A snapshot as one file. Its content passes through, from the host that has it to the client. */
import { hash } from "node:crypto"
import { Effect } from "effect"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { NotFound, SandboxUnavailable, UnsupportedByRuntime } from "../../schemas/Errors.ts"
import { SnapshotNotReady } from "../../schemas/SnapshotErrors.ts"
import { Runtime, type SnapshotImage } from "../runtime/Runtime.ts"
import { ownSnapshot } from "../sandbox/sandboxOrigin.ts"
import { Actors } from "../store/Actors.ts"
import { encodeSnapshot } from "./file/encodeSnapshot.ts"
import { headOf } from "./file/SnapshotHeader.ts"
import type { Snapshots } from "./Snapshots.ts"
import { isSnapshotGone, isSnapshotUsable } from "./snapshotStates.ts"

/** Variables stay: they are secrets. So does the lifetime, which is for the Sandboxes of this server. */
const headFor = (context: SnapshotContext, { sizeBytes, owner }: SnapshotImage): Buffer => {
  const { snapshotId, createdAt, runtime, profile, networkEnabled, name, sandboxName, metadata } = context
  return headOf({
    ...{ snapshotId, createdAt, sizeBytes, owner, runtime, profile },
    ...{ networkEnabled, name, sandboxName, metadata }
  })
}

/** The compressed bytes may differ between versions of zstd. */
const tagOf = (head: Buffer): string =>
  `"${hash("sha256", Buffer.concat([head, Buffer.from(process.versions.zstd ?? "")]), "hex").slice(0, 32)}"`

const hostSilent = () => Effect.fail(new SandboxUnavailable({ details: { status: null } }))

export const exportSnapshot = Effect.gen(function* () {
  const actors = yield* Actors
  const runtime = yield* Runtime

  const open: Snapshots["Service"]["export"] = Effect.fn("Snapshots.export")(function* (accountId, snapshotId, offset) {
    const { status, context } = yield* ownSnapshot(actors, accountId, snapshotId)
    if (isSnapshotGone(status)) return yield* new NotFound()
    if (!isSnapshotUsable(status)) return yield* new SnapshotNotReady({ details: { status } })
    const image = yield* runtime.snapshots.read(snapshotId, context.hostId).pipe(
      Effect.tapError(({ message }) => Effect.logWarning(`The snapshot ${snapshotId} could not be exported`, message)),
      Effect.catchTags({
        RuntimeRefused: hostSilent,
        RuntimeUnavailable: hostSilent,
        RuntimeUnsupported: ({ message }) => Effect.fail(new UnsupportedByRuntime({ message }))
      })
    )
    const head = headFor(context, image)
    return { tag: tagOf(head), bytes: encodeSnapshot(head, image, offset) }
  })
  return open
})
