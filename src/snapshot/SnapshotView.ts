/** Converts a snapshot's record to the contract's form. */
import { snapshotOfThisVersion } from "../../machines/snapshot.ts"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import type { Snapshot, SnapshotStatus } from "../../schemas/SnapshotRecord.ts"

const instant = (ms: number) => new Date(ms).toISOString()
const instantOrNull = (ms: number | null) => (ms === null ? null : instant(ms))

const viewOf = (status: string, context: SnapshotContext): Snapshot => ({
  id: context.snapshotId,
  sandboxId: context.sandboxId,
  imported: context.sandboxId === null,
  workspaceId: context.workspaceId,
  sandboxRevision: context.sandboxRevision,
  generation: context.generation,
  name: context.name,
  status: status as SnapshotStatus,
  statusReason: context.statusReason,
  checkpoint: context.checkpoint,
  runtime: context.runtime,
  profile: context.profile,
  networkEnabled: context.networkEnabled,
  metadata: context.metadata,
  envNames: context.env?.names ?? [],
  memory: context.memory,
  imageId: context.image?.imageId ?? null,
  sizeBytes: context.sizeBytes,
  storedBytes: context.storedBytes,
  pausedMs: context.pausedMs,
  createdAt: instant(context.createdAt),
  readyAt: instantOrNull(context.readyAt),
  expiresAt: instantOrNull(context.expiresAt),
  deletedAt: instantOrNull(context.deletedAt)
})

/** Also for a snapshot stored by an older version. */
export const snapshotView = (status: string, context: SnapshotContext): Snapshot =>
  viewOf(status, snapshotOfThisVersion(status, context))
