/** A host in the form that its operator sees, with `--json` and in the console. */
import type { Host } from "../../schemas/console/Hosts.ts"
import type { HostRow } from "./Hosts.ts"
import { firstHostState } from "./hostStates.ts"

/** One without an actor is still to join. */
export const hostState = ({ state }: Pick<HostRow, "state">): string => state ?? firstHostState

const instant = (ms: number): string => new Date(ms).toISOString()

/** @param now Epoch milliseconds. */
export const hostDocument = (host: HostRow, now: number): Host => ({
  id: host.id,
  label: host.label,
  state: hostState(host),
  since: host.since === null ? null : instant(host.since),
  wish: host.wish ?? "open",
  asked: host.asked,
  reason: host.reason,
  kind: host.kind,
  driver: host.driver,
  version: host.version,
  address: { host: host.addressHost, port: host.addressPort },
  sandboxes: { all: host.sandboxes, up: host.sandboxesUp, missing: host.sandboxesMissing },
  snapshots:
    host.snapshotsOnlyHere === null ? null : { onlyHere: host.snapshotsOnlyHere, withMemory: host.snapshotsBound ?? 0 },
  images: host.imagesOnlyHere === null ? null : { onlyHere: host.imagesOnlyHere },
  capacity: {
    vcpus: host.vcpus,
    memoryBytes: host.memoryBytes,
    diskBytes: host.diskBytes,
    parallelStarts: host.parallelStarts
  },
  promised: { vcpus: host.vcpusPromised, memoryBytes: host.memoryPromised, diskBytes: host.diskPromised },
  networkRefused: host.networkRefused,
  joinedAt: instant(host.joinedAt),
  seenAt: instant(host.seenAt),
  seenSecondsAgo: Math.max(0, Math.round((now - host.seenAt) / 1000))
})
