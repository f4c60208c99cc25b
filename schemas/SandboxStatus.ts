/** The states of a Sandbox. */
import { oneOf } from "./OneOf.ts"

export const sandboxStatuses = [
  "pending",
  "running",
  "stopping",
  "restoring",
  "stopped",
  "sleeping",
  "deleting",
  "deleted",
  "expired",
  "failed"
] as const

export const SandboxStatus = oneOf(
  "SandboxStatus",
  sandboxStatuses,
  "What it does now; restoring: its volume is being replaced by a snapshot's. deleted, expired (a limit refused it) and failed are final; stopped and sleeping ones can be started."
)
export type SandboxStatus = typeof SandboxStatus.Type
