/** The snapshots of a host on another machine. */
import { Effect } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeUnavailable, RuntimeUnsupported, type Snapshots } from "../Runtime.ts"
import type { DescribedHost } from "./DescribedHost.ts"
import type { HostClient } from "./HostRpcs.ts"
import { asked } from "./hostFaults.ts"

const ofOlderVersion = publicText`The host of the Sandbox runs an older version of Atoll, which has no snapshots. Its operator can update it.`

const restoresNothing = publicText`The host of the Sandbox runs an older version of Atoll, which rolls no Sandbox back. Its operator can update it.`

/** The host may have snapshots of a time when it ran this version. */
export const olderHost = (): RuntimeUnavailable => RuntimeUnavailable.known(ofOlderVersion)

/** Of a fleet. */
export const notBetweenHosts = Effect.fail(
  new RuntimeUnsupported({ message: "Snapshots of a fleet of hosts cannot be exported or imported yet." })
)

export const distantSnapshots = ({
  hostId,
  calls,
  described
}: {
  readonly hostId: string
  readonly calls: HostClient
  readonly described: DescribedHost
}): Snapshots => {
  /** An older host would break off on a call that it does not know. */
  const ofThisVersion = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E | RuntimeUnavailable> =>
    Effect.suspend(
      (): Effect.Effect<A, E | RuntimeUnavailable> => (described.said.takesSnapshots ? call : Effect.fail(olderHost()))
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
    read: () => notBetweenHosts,
    receive: () => notBetweenHosts,
    accept: () => notBetweenHosts,
    remove: (snapshotId) => ofThisVersion(asked(calls.RemoveSnapshot({ hostId, snapshotId }))),
    inventory: ofThisVersion(asked(calls.Snapshots({ hostId })))
  }
}
