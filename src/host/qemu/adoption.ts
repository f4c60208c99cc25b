/**
 * Decides what happens to a machine that an earlier service left behind, from its record and from QEMU's answer. A running machine continues, or its
 * end is reported. No machine is shown as running while it stands still, and none is booted again without a report.
 *
 * `docs/architecture/adoption.md` shows the table; a test compares them.
 *
 * @source QEMU qapi/run-state.json RunState
 */
import type { MachineRecord } from "./SandboxFolder.ts"

/** Every state in QEMU's RunState. */
export const runStates = [
  "running",
  "paused",
  "io-error",
  "finish-migrate",
  "postmigrate",
  "save-vm",
  "watchdog",
  "debug",
  "suspended",
  "prelaunch",
  "inmigrate",
  "restore-vm",
  "colo",
  "guest-panicked",
  "internal-error",
  "shutdown"
] as const
export type RunState = (typeof runStates)[number]

/** The state of the record's process. `unanswered`: it lives, but its QEMU does not report a state. */
export type Seen = RunState | "gone" | "unanswered"

export type Adoption =
  /** Nothing runs, and nothing should run. */
  | "nothing"
  /** It keeps running. A machine that waits for the host's disk is reported as stalled. */
  | "goOn"
  /** A killed service had paused it for a suspend or a backup, which is given up; the machine continues. */
  | "resume"
  /** It was being woken and its memory is loaded: it continues. */
  | "finishWake"
  /** Its memory is completely saved: its remaining QEMU is ended. */
  | "sleep"
  /** No client has seen it running: it is booted again. */
  | "bootAgain"
  /** It is ended, and its Sandbox gets the reason. */
  | "tellEnd"

/** A machine in these states can continue. */
const standing: ReadonlyArray<Seen> = ["paused", "finish-migrate", "postmigrate", "save-vm", "watchdog", "debug"]
const going: ReadonlyArray<Seen> = ["running", "io-error", "suspended"]
/** Before its first instruction. */
const loaded: ReadonlyArray<Seen> = ["prelaunch", "inmigrate", "restore-vm"]

export const adoptionOf = (state: MachineRecord["state"], seen: Seen): Adoption => {
  switch (state) {
    case "stopped":
      return "nothing"
    case "starting":
      return "bootAgain"
    case "suspended":
      return seen === "gone" ? "nothing" : "sleep"
    case "waking":
      return going.includes(seen) || standing.includes(seen) || loaded.includes(seen) ? "finishWake" : "tellEnd"
    case "running":
      return going.includes(seen) ? "goOn" : standing.includes(seen) ? "resume" : "tellEnd"
  }
}

/** @param answer The answer to `query-status`. An unknown state of a later QEMU counts as `unanswered`. */
export const seenIn = (answer: unknown): Seen => {
  const status = typeof answer === "object" && answer !== null && "status" in answer ? answer.status : null
  return runStates.find((known) => known === status) ?? "unanswered"
}
