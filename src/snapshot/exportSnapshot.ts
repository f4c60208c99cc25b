/** A snapshot as one file. Its content passes through, from the host that has it to the client. */
import { hash } from "node:crypto"
import { Readable } from "node:stream"
import { Effect, Exit } from "effect"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { NotFound, ServiceUnavailable, UnsupportedByRuntime } from "../../schemas/Errors.ts"
import { SnapshotNotReady } from "../../schemas/SnapshotErrors.ts"
import { Runtime, type SnapshotImage } from "../runtime/Runtime.ts"
import { unstalled } from "../runtime/unstalled.ts"
import { ownSnapshot } from "../sandbox/sandboxOrigin.ts"
import { Actors } from "../store/Actors.ts"
import { encodeSnapshot } from "./file/encodeSnapshot.ts"
import { headOf } from "./file/SnapshotHeader.ts"
import type { Snapshots } from "./Snapshots.ts"
import { SnapshotTransfers } from "./SnapshotTransfers.ts"
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

const hostSilent = () =>
  Effect.fail(new ServiceUnavailable({ message: "The host of the snapshot does not answer now. Try again later." }))

/** A client that reads no byte for so long is disconnected. */
const stalledMs = 60_000

/** The permit is released when the bytes are read, or no longer wanted. */
const held = (file: Readable, release: () => void): Readable => {
  const stall = (): void => void bytes.destroy(new Error("the client reads nothing"))
  const unread = setTimeout(stall, stalledMs).unref()
  async function* read() {
    clearTimeout(unread)
    yield* unstalled<Buffer>(file, stalledMs, stall)
  }
  const bytes: Readable = Readable.from(read(), { objectMode: false })
  // Before it is sent, nothing else listens.
  bytes
    .on("error", () => {})
    .once("close", () => {
      clearTimeout(unread)
      file.destroy()
      release()
    })
  return bytes
}

export const exportSnapshot = Effect.gen(function* () {
  const actors = yield* Actors
  const runtime = yield* Runtime
  const transfers = yield* SnapshotTransfers

  const open: Snapshots["Service"]["export"] = Effect.fn("Snapshots.export")(function* (accountId, snapshotId, offset) {
    const { status, context } = yield* ownSnapshot(actors, accountId, snapshotId)
    if (isSnapshotGone(status)) return yield* new NotFound()
    if (!isSnapshotUsable(status)) return yield* new SnapshotNotReady({ details: { status } })
    const release = yield* transfers.enter(accountId)
    const image = yield* runtime.snapshots.read(snapshotId, context.hostId).pipe(
      Effect.tapError(({ message }) => Effect.logWarning(`The snapshot ${snapshotId} could not be exported`, message)),
      Effect.catchTags({
        RuntimeRefused: hostSilent,
        RuntimeUnavailable: hostSilent,
        RuntimeUnsupported: ({ message }) => Effect.fail(new UnsupportedByRuntime({ message }))
      }),
      Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : Effect.sync(release)))
    )
    const head = headFor(context, image)
    return { tag: tagOf(head), bytes: held(encodeSnapshot(head, image, offset), release) }
  })
  return open
})
