/**
 * What is done with a machine that an earlier service left behind, decided from what is written down and from QEMU's own word. What ran goes on, or its
 * end is told: no machine is shown as running that stands still, and none is booted again without a word.
 *
 * `docs/architecture/adoption.md` shows the table; a test compares them.
 *
 * @source QEMU qapi/run-state.json RunState
 */
import type { MachineRecord } from "./SandboxFolder.ts"

/** Every state that QEMU knows of a machine. */
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

/** Of the record's process. `unanswered`: it lives, and its QEMU does not say how it is. */
export type Seen = RunState | "gone" | "unanswered"

export type Adoption =
  /** Nothing runs, and nothing should. */
  | "nothing"
  /** It runs on. One that waits for the host's disk is told to be stalled. */
  | "goOn"
  /** It was paused by what a killed service had begun: that is given up, and the machine goes on. */
  | "resume"
  /** It was being woken, and its memory is loaded: it goes on. */
  | "finishWake"
  /** Its memory is saved whole: what is left of its QEMU is ended. */
  | "sleep"
  /** No client was told that it is up: it is booted again. */
  | "bootAgain"
  /** It is ended, and its Sandbox is told why. */
  | "tellEnd"

/** They can go on from there. */
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

/** @param answer To `query-status`. A state that a later QEMU has is taken for one of which nothing is known. */
export const seenIn = (answer: unknown): Seen => {
  const status = typeof answer === "object" && answer !== null && "status" in answer ? answer.status : null
  return runStates.find((known) => known === status) ?? "unanswered"
}
