/** Why a Sandbox does not take an event: the codes by event, for its states. */

import { lateCheckpoint } from "./checkpoints.ts"

/** What no state takes at any time. */
export const late = {
  RUNTIME_UP: "STALE_RUNTIME_EVENT",
  RUNTIME_REFUSED: "STALE_RUNTIME_EVENT",
  RUNTIME_FAILED: "STALE_RUNTIME_EVENT",
  RUNTIME_DOWN: "STALE_RUNTIME_EVENT",
  HOST_LOST: "STALE_RUNTIME_EVENT",
  RUNTIME_FOUND: "STALE_RUNTIME_EVENT",
  RUNTIME_STALLED: "STALE_RUNTIME_EVENT",
  RUNTIME_RESUMED: "STALE_RUNTIME_EVENT",
  RUNTIME_STOPPED: "STALE_RUNTIME_EVENT",
  SUSPEND_FAILED: "STALE_RUNTIME_EVENT",
  IN_USE: "STALE_RUNTIME_EVENT",
  IDLE_DUE: "STALE_DEADLINE",
  VOLUME_GONE: "STALE_RUNTIME_EVENT",
  BOOT_WAITS: "STALE_RUNTIME_EVENT",
  BOOT_TIMEOUT: "STALE_DEADLINE",
  STOP_DUE: "STALE_DEADLINE",
  IDLE_STOP_DUE: "STALE_DEADLINE",
  WAS_USED: "STALE_DEADLINE",
  WAS_IDLE: "STALE_DEADLINE",
  DELETE_DUE: "STALE_DEADLINE",
  ROLLBACK: "SANDBOX_CANNOT_ROLL_BACK",
  VOLUME_RESTORED: "STALE_RUNTIME_EVENT",
  ROLLBACK_FAILED: "STALE_RUNTIME_EVENT",
  ...lateCheckpoint,
  CHANGED: "STALE_CHANGE"
}

/** What a Sandbox that does not run refuses. */
export const notRunning = { ...late, SLEEP: "SANDBOX_NOT_RUNNING" }
/** What a Sandbox that can never run again refuses. */
export const over = (code: string) => ({ ...late, START: code, STOP: code, SLEEP: code, ROLLBACK: code, CHANGED: code })
