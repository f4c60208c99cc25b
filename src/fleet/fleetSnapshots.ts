/** The snapshots of a fleet: each is on the host of its Sandbox. */
import { Effect } from "effect"
import { publicText } from "../../schemas/PublicText.ts"
import { notBetweenHosts } from "../runtime/distant/distantSnapshots.ts"
import { RuntimeRefused, RuntimeUnavailable, type Snapshots } from "../runtime/Runtime.ts"
import type { HostLinks } from "./HostLinks.ts"
import type { Reservations } from "./Reservations.ts"

const onNoHost = () =>
  new RuntimeRefused({
    code: "VOLUME_MISSING",
    message: publicText`The Sandbox has no host and so no volume.`
  })

export const fleetSnapshots = (links: HostLinks["Service"], reservations: Reservations["Service"]): Snapshots => ({
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
    yield* host.snapshots.restore(snapshotId, sandboxId, generation)
  }),
  read: () => notBetweenHosts,
  receive: () => notBetweenHosts,
  accept: () => notBetweenHosts,
  remove: Effect.fnUntraced(function* (snapshotId, hostId) {
    // One of before the fleet, or of a removed host: that host's reconciler removes what it still has.
    if (hostId === null || (yield* reservations.isRemovedHost(hostId))) return
    const host = yield* links.to(hostId)
    yield* host.snapshots.remove(snapshotId, null)
  }),
  inventory: Effect.fail(new RuntimeUnavailable({ message: "Each host has its own inventory." }))
})
