/** Why a state refuses an event, in words, by the refusal's code. `machines.test.ts` asks for each code of each machine. */
const refusals: Readonly<Record<string, string>> = {
  ACCESS_NOT_ACTIVE: "The access is not active yet.",
  ACCESS_NOT_ENDING: "The access is not being closed.",
  ACCESS_OVER: "The access has ended.",
  CAPTURE_OVER: "The capture has ended already, or was given up.",
  GRANT_NOT_ELAPSED: "The grant has not expired.",
  GRANT_NOT_OPEN: "The grant is not open yet.",
  GRANT_OVER: "The grant has ended.",
  HOST_GONE: "The host is removed.",
  HOST_IN_USE: "The host is in use: drain it first.",
  OPERATION_NOT_TERMINAL: "The operation has not ended.",
  OPERATION_STARTED: "The command has already started.",
  OPERATION_TERMINAL: "The operation has ended; its result never changes.",
  PREVIEW_OVER: "The preview is closed.",
  SANDBOX_ALREADY_CONFIRMED: "The state of the Sandbox is known already.",
  SANDBOX_DELETED: "The Sandbox is deleted or being deleted.",
  SANDBOX_EXPIRED: "The Sandbox never started; it can only be deleted.",
  SANDBOX_FAILED: "The Sandbox failed; it can only be deleted.",
  SANDBOX_NOT_RUNNING: "The Sandbox is not running.",
  SNAPSHOT_DELETED: "The snapshot is deleted or being deleted.",
  SNAPSHOT_NOT_DELETING: "The snapshot is not being deleted.",
  SNAPSHOT_NOT_READY: "The snapshot has no image.",
  STALE_CHANGE: "It was changed after the version that this change names.",
  STALE_DEADLINE: "The deadline is no longer set.",
  STALE_HOST_EVENT: "The report is about an earlier start of the host, or about something that it no longer does.",
  STALE_RUNTIME_EVENT: "The report is about an earlier boot, or about something that the Sandbox no longer does.",
  TREE_ALREADY_SETTLED: "The end of the process tree is known already.",
  TUNNEL_ALREADY_OPEN: "The preview is open already.",
  TUNNEL_NOT_CLOSING: "The preview is not being closed.",
  UNEXPECTED_EVENT: "The state has no transition for this event."
}

export const refusalText = (code: string): string => refusals[code] ?? ""
