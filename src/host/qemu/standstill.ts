/** Resumes a machine that stands still because the service that had paused it, or was loading it, was killed. */
import { rm } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import type { Machine } from "./Machine.ts"
import { endSave } from "./parallelSave.ts"
import type { SandboxFolder } from "./SandboxFolder.ts"

const CLOCK_TIMEOUT_MS = 10_000
/** QEMU completes a save or load of memory even without a waiting caller. */
const MIGRATION_ENDS_WITHIN_MS = 60_000
const POLL_MS = 50

const isMoving = (answer: unknown): boolean => {
  const status = typeof answer === "object" && answer !== null && "status" in answer ? String(answer.status) : ""
  return ["setup", "cancelling", "active", "device", "pre-switchover", "wait-unplug"].includes(status)
}

/** Ends a save of memory that goes on, and resumes the machine. */
export const goOn = async ({ qmp }: Machine): Promise<void> => {
  const isSaving = async () => isMoving(await qmp.execute("query-migrate"))
  if (await isSaving()) {
    const end = performance.now() + MIGRATION_ENDS_WITHIN_MS
    await endSave(qmp)
    while ((await isSaving()) && performance.now() < end) await sleep(POLL_MS)
  }
  await qmp.execute("cont")
}

/** Resumes the machine with the right time, and removes the files of the suspend that failed. */
export const bringBack = async (folder: SandboxFolder, machine: Machine): Promise<void> => {
  await goOn(machine)
  await machine.boot.clock(CLOCK_TIMEOUT_MS)
  await dropSavedState(folder)
}

/** Removes the saved memory, which must never be used with a volume that has changed since. */
export const dropSavedState = async (folder: SandboxFolder): Promise<void> => {
  await rm(folder.file("suspended"), { force: true })
  await rm(folder.file("devices"), { force: true })
  await rm(folder.file("captured"), { force: true })
  await rm(folder.file("forkFolder"), { recursive: true, force: true })
}
