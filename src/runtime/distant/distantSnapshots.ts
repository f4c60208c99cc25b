/** The snapshots of a host on another machine. */
import { Effect } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeUnavailable, RuntimeUnsupported, type Snapshots } from "../Runtime.ts"
import type { DescribedHost } from "./DescribedHost.ts"
import type { HostClient } from "./HostRpcs.ts"
import { asked } from "./hostFaults.ts"
import type { SnapshotContents } from "./SnapshotContents.ts"

const ofOlderVersion = publicText`The host of the Sandbox runs an older version of Atoll, which has no snapshots. Its operator can update it.`

const restoresNothing = publicText`The host of the Sandbox runs an older version of Atoll, which rolls no Sandbox back. Its operator can update it.`

/** The host may have snapshots of a time when it ran this version. */
export const olderHost = (): RuntimeUnavailable => RuntimeUnavailable.known(ofOlderVersion)

const carriesNothing = publicText`The host of the snapshot runs an older version of Atoll, which exports and imports none. Its operator can update it.`

export const distantSnapshots = ({
  hostId,
  calls,
  described,
  contents
}: {
  readonly hostId: string
  readonly calls: HostClient
  readonly described: DescribedHost
  readonly contents: SnapshotContents
}): Snapshots => {
  /** An older host would break off on a call that it does not know. */
  const ofThisVersion = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E | RuntimeUnavailable> =>
    Effect.suspend(
      (): Effect.Effect<A, E | RuntimeUnavailable> => (described.said.takesSnapshots ? call : Effect.fail(olderHost()))
    )
  const carrying = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E | RuntimeUnsupported> =>
    Effect.suspend(
      (): Effect.Effect<A, E | RuntimeUnsupported> =>
        described.said.movesSnapshots ? call : Effect.fail(new RuntimeUnsupported({ message: carriesNothing }))
    )
  return {
    capture: (snapshotId, sandboxId, memory = false) =>
      Effect.suspend(() =>
        // An older host would leave the memory out.
        described.said.takesSnapshots && (!memory || described.said.keepsMemory === true)
          ? Effect.map(asked(calls.CaptureSnapshot({ hostId, sandboxId, snapshotId, memory })), (captured) => ({
              hostId,
              ...captured
            }))
          : Effect.fail(new RuntimeUnsupported({ message: ofOlderVersion }))
      ),
    restore: (snapshotId, sandboxId, generation) =>
      Effect.suspend(() =>
        described.said.restoresSnapshots
          ? asked(calls.RestoreSnapshot({ hostId, sandboxId, generation, snapshotId }))
          : Effect.fail(new RuntimeUnsupported({ message: restoresNothing }))
      ),
    read: (snapshotId) =>
      carrying(
        Effect.map(asked(calls.SnapshotImage({ hostId, snapshotId })), ({ sizeBytes, owner }) => ({
          ...{ sizeBytes, owner },
          pieces: contents.pieces(snapshotId, sizeBytes)
        }))
      ),
    receive: (snapshotId, image) => carrying(Effect.as(contents.send(snapshotId, image), { hostId })),
    accept: (snapshotId) =>
      carrying(
        Effect.map(asked(calls.AcceptSnapshot({ hostId, snapshotId })), (accepted) => ({ hostId, ...accepted }))
      ),
    remove: (snapshotId) => ofThisVersion(asked(calls.RemoveSnapshot({ hostId, snapshotId }))),
    inventory: ofThisVersion(asked(calls.Snapshots({ hostId })))
  }
}
