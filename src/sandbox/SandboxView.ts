/** A Sandbox's snapshot as the contract shows it. */
import type { SandboxContext } from "../../machines/sandbox.ts"
import type { Sandbox, SandboxStatus } from "../../schemas/Sandbox.ts"

const instant = (ms: number) => new Date(ms).toISOString()
const instantOrNull = (ms: number | null) => (ms === null ? null : instant(ms))

export const sandboxView = (status: string, context: SandboxContext): Sandbox => ({
  id: context.sandboxId,
  workspaceId: context.workspaceId,
  name: context.name,
  runtime: context.runtime,
  profile: context.profile,
  status: status as SandboxStatus,
  statusReason: context.statusReason,
  networkEnabled: context.networkEnabled,
  volume: { id: context.volumeId, sizeBytes: context.profile.diskBytes },
  generation: context.generation,
  metadata: context.metadata,
  createdAt: instant(context.createdAt),
  updatedAt: instant(context.updatedAt),
  startedAt: instantOrNull(context.startedAt),
  stoppedAt: instantOrNull(context.stoppedAt),
  deletedAt: instantOrNull(context.deletedAt)
})
