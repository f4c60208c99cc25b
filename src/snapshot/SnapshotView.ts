/** Converts a snapshot's record to the contract's form. */
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import type { Snapshot, SnapshotStatus } from "../../schemas/SnapshotRecord.ts"

const instant = (ms: number) => new Date(ms).toISOString()
const instantOrNull = (ms: number | null) => (ms === null ? null : instant(ms))

export const snapshotView = (status: string, context: SnapshotContext): Snapshot => ({
  id: context.snapshotId,
  sandboxId: context.sandboxId,
  workspaceId: context.workspaceId,
  sandboxRevision: context.sandboxRevision,
  generation: context.generation,
  name: context.name,
  status: status as SnapshotStatus,
  statusReason: context.statusReason,
  runtime: context.runtime,
  profile: context.profile,
  networkEnabled: context.networkEnabled,
  metadata: context.metadata,
  envNames: context.env?.names ?? [],
  memory: context.memory,
  sizeBytes: context.sizeBytes,
  storedBytes: context.storedBytes,
  pausedMs: context.pausedMs,
  createdAt: instant(context.createdAt),
  readyAt: instantOrNull(context.readyAt),
  expiresAt: instantOrNull(context.expiresAt),
  deletedAt: instantOrNull(context.deletedAt)
})
