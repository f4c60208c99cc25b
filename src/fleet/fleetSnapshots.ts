/** The snapshots of a fleet: each is on the host of its Sandbox, or on the one that took its file. */
import { Effect, Result } from "effect"
import { publicText } from "../../schemas/PublicText.ts"
import {
  type ImagePiece,
  RuntimeRefused,
  RuntimeUnavailable,
  type SnapshotImage,
  type Snapshots
} from "../runtime/Runtime.ts"
import type { HostLinks } from "./HostLinks.ts"
import type { Reservations } from "./Reservations.ts"
import type { SnapshotCopies } from "./SnapshotCopies.ts"

const onNoHost = () =>
  new RuntimeRefused({
    code: "VOLUME_MISSING",
    message: publicText`The Sandbox has no host and so no volume.`
  })

const onNoHostNow = () =>
  new RuntimeRefused({
    code: "HOST_FULL",
    message: publicText`No host has room for the snapshot now. Try again later.`
  })

const noHostNamed = new RuntimeUnavailable({ message: "The snapshot names no host of this fleet." })

/** The host that has the snapshot, as it says. */
const hostOf = (links: HostLinks["Service"], hostId: string | null) =>
  hostId === null ? Effect.fail(noHostNamed) : links.to(hostId)

/** Whether a piece of the image was read: another host cannot have it then. */
const begun = (image: SnapshotImage) => {
  let isBegun = false
  async function* pieces(): AsyncGenerator<ImagePiece> {
    isBegun = true
    yield* image.pieces
  }
  return { image: { ...image, pieces: pieces() }, isBegun: () => isBegun }
}

/** A rollback does not wait for another host: its Sandbox keeps its volume and boots again. */
const unreached = (error: RuntimeRefused | RuntimeUnavailable) =>
  error._tag === "RuntimeRefused"
    ? error
    : new RuntimeRefused({
        code: "SNAPSHOT_MISSING",
        message: publicText`The snapshot could not be brought to the host of this Sandbox. Roll back later.`
      })

export const fleetSnapshots = (
  links: HostLinks["Service"],
  reservations: Reservations["Service"],
  copies: SnapshotCopies["Service"]
): Snapshots => ({
  capture: Effect.fnUntraced(function* (snapshotId, sandboxId, memory) {
    const hostId = yield* reservations.hostOf(sandboxId)
    if (hostId === null) return yield* onNoHost()
    const host = yield* links.to(hostId)
    return { ...(yield* host.snapshots.capture(snapshotId, sandboxId, memory)), hostId }
  }),
  restore: Effect.fnUntraced(function* (snapshotId, sandboxId, generation) {
    const hostId = yield* reservations.hostOf(sandboxId)
    if (hostId === null) return yield* onNoHost()
    const host = yield* links.to(hostId)
    yield* Effect.mapError(copies.bring(snapshotId, hostId), unreached)
    yield* host.snapshots.restore(snapshotId, sandboxId, generation)
  }),
  read: copies.read,
  receive: Effect.fnUntraced(function* (snapshotId, content, kind) {
    const { image, isBegun } = begun(content)
    let failure: Effect.Error<ReturnType<Snapshots["receive"]>> = onNoHostNow()
    for (const hostId of yield* reservations.hostsWithDisk(kind, image.sizeBytes)) {
      const received = yield* links.to(hostId).pipe(
        Effect.flatMap((host) => host.snapshots.receive(snapshotId, image, kind)),
        Effect.result
      )
      if (Result.isSuccess(received)) return { hostId }
      failure = received.failure
      if (isBegun()) break
    }
    return yield* failure
  }),
  accept: Effect.fnUntraced(function* (snapshotId, hostId) {
    const host = yield* hostOf(links, hostId)
    return { ...(yield* host.snapshots.accept(snapshotId, null)), hostId }
  }),
  remove: Effect.fnUntraced(function* (snapshotId, hostId) {
    yield* copies.removeAll(snapshotId)
    // One of before the fleet, or of a removed host: that host's reconciler removes what it still has.
    if (hostId === null || (yield* reservations.isRemovedHost(hostId))) return
    const host = yield* links.to(hostId)
    yield* host.snapshots.remove(snapshotId, null)
  }),
  inventory: Effect.fail(new RuntimeUnavailable({ message: "Each host has its own inventory." }))
})
