/**
 * Holds a machine's volume unchanged while a process other than the service reads its image.
 *
 * A stopped machine does not start until the volume is released (`holdMark.ts`). Only the service can pause a running machine, because it alone is
 * connected to QEMU. It sees the mark, has the guest write all data to the volume and freeze its file system, pauses the machine and records that in
 * `volume.raw.still`. It writes the record before it pauses the machine, so that the service after a killed one knows which machine to resume.
 */
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { rm } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { Option, Schema } from "effect"
import { hold, holdingOf, release } from "../linux/holdMark.ts"
import { isAlive } from "../linux/ProcessIdentity.ts"
import { readRecord, WrittenProcess, writeRecord } from "../linux/SandboxRecords.ts"
import { type StillVolume, writtenAt } from "../linux/StillVolume.ts"
import type { Machine } from "./Machine.ts"
import { processOf } from "./recordedProcess.ts"
import type { SandboxFolder } from "./SandboxFolder.ts"
import { goOn } from "./standstill.ts"

/** Shorter than the time after which clients would consider the guest's agent gone. */
export const PAUSE_MAX_MS = 15_000
const POLL_MS = 20
/** The guest is under its user's control and may ignore the request; the volume is then as after a power cut. */
const FLUSH_TIMEOUT_MS = 20_000
/** There is little left to write. A guest that was started by an older Atoll does not answer. */
const FREEZE_TIMEOUT_MS = 3000
const CLOCK_TIMEOUT_MS = 10_000
/** The service checks twice a second, and the guest needs time to write. */
const PAUSED_WITHIN_MS = FLUSH_TIMEOUT_MS + 20_000

const Still = Schema.Struct({ isPaused: Schema.Boolean, token: Schema.String, process: WrittenProcess })
const decode = Schema.decodeUnknownOption(Still)

const stillOf = (folder: SandboxFolder): string => `${folder.file("volume")}.still`

/** Null when the record is of a machine that has ended. */
const readStill = (folder: SandboxFolder): typeof Still.Type | null => {
  const still = Option.getOrNull(decode(readRecord(stillOf(folder))))
  return still !== null && isAlive(still.process) ? still : null
}

/** The hold for which the machine must be paused; null when there is none. */
export const wantedHolding = (folder: SandboxFolder): string | null => holdingOf(folder.file("volume"))

/** Has the guest write all data to its volume. */
export const writeOut = ({ boot }: Machine): Promise<void> => boot.flush(FLUSH_TIMEOUT_MS).catch(() => {})

/** Resumes a machine that a service, this one or a killed one, has paused for a hold. */
export const resumeHeld = async (folder: SandboxFolder, machine: Machine): Promise<void> => {
  if (!existsSync(stillOf(folder))) return
  const { boot } = machine
  // The service may have been saving its memory for a snapshot.
  await goOn(machine)
  void boot.thaw(CLOCK_TIMEOUT_MS).catch(() => {})
  await rm(folder.file("captured"), { force: true })
  await rm(stillOf(folder), { force: true })
  // The guest's clock stood still, so it is set. In the background: closing the connection must not wait for that.
  void boot.clock(CLOCK_TIMEOUT_MS).catch(() => {})
}

/** Pauses a machine while `act` runs. The caller holds the machine's lock. `pausedMs`: how long it stood still. */
export const whilePaused = async <A>(folder: SandboxFolder, machine: Machine, act: () => Promise<A>) => {
  const note = { token: randomUUID(), process: machine.process }
  let pausedAt = performance.now()
  let result: A
  try {
    await writeRecord(stillOf(folder), { ...note, isPaused: false }, { durable: false })
    pausedAt = performance.now()
    // A guest that refuses is paused in the middle of its writes: its volume is then as after a power cut.
    await machine.boot.freeze(FREEZE_TIMEOUT_MS).catch(() => {})
    await machine.qmp.execute("stop")
    await writeRecord(stillOf(folder), { ...note, isPaused: true }, { durable: false })
    result = await act()
  } finally {
    await resumeHeld(folder, machine)
  }
  return { result, pausedMs: performance.now() - pausedAt }
}

/**
 * Runs `act`, in which the guest's programs and then the machine stop, and resumes both. `pauses` says when. The caller holds the machine's lock. The guest's file
 * system is not frozen: its memory is saved as it is, and has what the volume lacks.
 */
export const whileSaved = async <A>(
  folder: SandboxFolder,
  machine: Machine,
  act: (pauses: () => void) => Promise<A>
) => {
  let pausedAt: number | null = null
  const pauses = () => {
    pausedAt ??= performance.now()
  }
  const unlisten = machine.qmp.listen(({ event }) => {
    if (event === "STOP") pauses()
  })
  let result: A
  try {
    const note = { token: randomUUID(), process: machine.process, isPaused: false }
    await writeRecord(stillOf(folder), note, { durable: false })
    result = await act(pauses)
  } finally {
    unlisten()
    await resumeHeld(folder, machine)
  }
  return { result, pausedMs: pausedAt === null ? 0 : performance.now() - pausedAt }
}

/**
 * Pauses a machine while its volume is held, up to a bound. The caller holds the machine's lock.
 *
 * @param isWanted Whether the hold is still the same; false also when the service disconnects from the machine.
 */
export const pauseHeld = async (folder: SandboxFolder, machine: Machine, isWanted: () => boolean): Promise<void> => {
  await whilePaused(folder, machine, async () => {
    const deadline = performance.now() + PAUSE_MAX_MS
    while (isWanted() && performance.now() < deadline) await sleep(POLL_MS)
  })
}

/** @param isServed Whether a service runs that could pause a machine. */
export const holdMachineVolume = async (
  folder: SandboxFolder,
  isServed: () => Promise<boolean>
): Promise<StillVolume> => {
  const { sandboxId } = folder
  const image = folder.file("volume")
  await hold(image)
  try {
    let deadline = performance.now() + PAUSED_WITHIN_MS
    while (true) {
      const still = readStill(folder)
      const isPaused = still?.isPaused === true
      const record = await folder.read()
      if (isPaused || record === null || record.state === "stopped" || isAsleep(record)) {
        const before = await writtenAt(image)
        return {
          isStill: async () =>
            (await writtenAt(image)) === before && (!isPaused || readStill(folder)?.token === still?.token),
          letGo: () => release(image)
        }
      }
      if (!(await isServed())) {
        throw new Error(
          `The virtual machine of ${sandboxId} runs, and only a running Atoll can pause it: start Atoll, or stop all machines with atoll down.`
        )
      }
      // Extends the wait by the time that a boot may take.
      if (record.state === "starting") deadline = performance.now() + PAUSED_WITHIN_MS
      if (performance.now() > deadline) {
        throw new Error(
          `The virtual machine of ${sandboxId} was not paused within ${PAUSED_WITHIN_MS / 1000} s: stop it first, and look at Atoll's log.`
        )
      }
      await sleep(POLL_MS)
    }
  } catch (cause) {
    await release(image)
    throw cause
  }
}

const isAsleep = (record: Parameters<typeof processOf>[0]): boolean =>
  record.state === "suspended" && processOf(record) === null
