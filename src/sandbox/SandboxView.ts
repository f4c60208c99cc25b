/** Converts a Sandbox's snapshot to the contract's form. */
import { deletesAt, stopsAt } from "../../machines/sandbox.ts"
import { ofThisVersion } from "../../machines/sandboxVersions.ts"
import type { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import type { Sandbox } from "../../schemas/Sandbox.ts"
import type { SandboxStatus } from "../../schemas/SandboxStatus.ts"
import type { SandboxRecord } from "./ownSandbox.ts"
import { runtimelessStates } from "./sandboxStates.ts"

const instant = (ms: number) => new Date(ms).toISOString()
const instantOrNull = (ms: number | null) => (ms === null ? null : instant(ms))

const lifetimeView = (status: string, context: SandboxContext): Sandbox["lifetime"] => ({
  stopAfterSeconds: context.lifetime?.stopAfterSeconds ?? null,
  stopAfterIdleSeconds: context.lifetime?.stopAfterIdleSeconds ?? null,
  deleteAfterStoppedSeconds: context.lifetime?.deleteAfterStoppedSeconds ?? null,
  stopAt: instantOrNull(stopsAt(context)),
  idleStopAt: instantOrNull(context.idleStopAt),
  deleteAt: instantOrNull(runtimelessStates.includes(status) ? deletesAt(context) : null)
})

const rollbackView = ({ rollback }: SandboxContext): Sandbox["rollback"] =>
  rollback === null
    ? null
    : {
        snapshotId: rollback.snapshotId,
        keptSnapshotId: rollback.keptId,
        outcome: rollback.outcome,
        reason: rollback.reason,
        requestedAt: instant(rollback.askedAt)
      }
const checkpointsView = ({
  checkpoints,
  checkpointAt,
  lastCheckpoint
}: SandboxContext): Pick<Sandbox, "checkpoints" | "lastCheckpoint"> => ({
  checkpoints: checkpoints === null ? null : { ...checkpoints, nextAt: instantOrNull(checkpointAt) },
  lastCheckpoint: lastCheckpoint === null ? null : { ...lastCheckpoint, at: instant(lastCheckpoint.at) }
})

const viewOf = (status: string, context: SandboxContext): Sandbox => ({
  id: context.sandboxId,
  workspaceId: context.workspaceId,
  name: context.name,
  runtime: context.runtime,
  profile: context.profile,
  status: status as SandboxStatus,
  statusReason: context.statusReason,
  networkEnabled: context.networkEnabled,
  volume: { id: context.volumeId, sizeBytes: context.profile.diskBytes },
  snapshotId: context.snapshotId,
  imageId: context.image?.imageId ?? null,
  buildsImageId: context.buildsImageId,
  generation: context.generation,
  rollback: rollbackView(context),
  metadata: context.metadata,
  envNames: context.env?.names ?? [],
  lifetime: lifetimeView(status, context),
  ...checkpointsView(context),
  createdAt: instant(context.createdAt),
  updatedAt: instant(context.updatedAt),
  startedAt: instantOrNull(context.startedAt),
  stoppedAt: instantOrNull(context.stoppedAt),
  deletedAt: instantOrNull(context.deletedAt)
})

/** Also for a snapshot stored by an older version. */
export const sandboxView = (status: string, context: SandboxContext): Sandbox =>
  viewOf(status, ofThisVersion(status, context))

const views = new WeakMap<SandboxRecord, Sandbox>()

/** The same, computed once for each record that is in memory. */
export const recordView = (record: SandboxRecord): Sandbox => {
  const known = views.get(record)
  if (known !== undefined) return known
  const made = sandboxView(record.status, record.context)
  views.set(record, made)
  return made
}
