/**
 * Holding a machine's volume still while its image is read, by another process than the one that serves.
 *
 * One that does not run does not start before it is let go (`holdMark.ts`). One that runs is paused by the service, which alone speaks with its
 * QEMU: it sees the mark, has the guest write everything to the volume, pauses the machine and says so in `volume.raw.still`, which it writes
 * before it pauses, so that a service that comes after a killed one finds what it has to resume.
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

/** Less than it takes until anybody believes that the guest's agent is gone. */
const PAUSE_MAX_MS = 15_000
const POLL_MS = 20
/** A guest that is its user's own may do what it likes when it is asked: the machine is then as after a power cut. */
const FLUSH_TIMEOUT_MS = 20_000
const CLOCK_TIMEOUT_MS = 10_000
/** The service looks twice a second, and the guest has its time to write. */
const PAUSED_WITHIN_MS = FLUSH_TIMEOUT_MS + 20_000

const Still = Schema.Struct({ isPaused: Schema.Boolean, token: Schema.String, process: WrittenProcess })
const decode = Schema.decodeUnknownOption(Still)

const stillOf = (folder: SandboxFolder): string => `${folder.file("volume")}.still`

/** Null when its machine is not meant any more. */
const readStill = (folder: SandboxFolder): typeof Still.Type | null => {
  const still = Option.getOrNull(decode(readRecord(stillOf(folder))))
  return still !== null && isAlive(still.process) ? still : null
}

/** Names the holding for which the machine is to be paused; null when nobody wants that. */
export const wantedHolding = (folder: SandboxFolder): string | null => holdingOf(folder.file("volume"))

/** The guest writes everything to its volume. */
export const writeOut = ({ boot }: Machine): Promise<void> => boot.flush(FLUSH_TIMEOUT_MS).catch(() => {})

/** The machine goes on, if a service has paused it for a holding: this one, or one that was killed meanwhile. */
export const resumeHeld = async (folder: SandboxFolder, { qmp, boot }: Machine): Promise<void> => {
  if (!existsSync(stillOf(folder))) return
  await qmp.execute("cont")
  await rm(stillOf(folder), { force: true })
  // Its time had stood still. Whoever ends its connection need not wait for that.
  void boot.clock(CLOCK_TIMEOUT_MS).catch(() => {})
}

/**
 * Pauses a machine for as long as its volume is held, and not for longer than it may be. Whoever calls holds the machine's turn.
 *
 * @param isWanted As before; false also when nobody speaks with the machine any more, or soon will not.
 */
export const pauseHeld = async (folder: SandboxFolder, machine: Machine, isWanted: () => boolean): Promise<void> => {
  const note = { token: randomUUID(), process: machine.process }
  try {
    await writeRecord(stillOf(folder), { ...note, isPaused: false }, { durable: false })
    await machine.qmp.execute("stop")
    await writeRecord(stillOf(folder), { ...note, isPaused: true }, { durable: false })
    const deadline = performance.now() + PAUSE_MAX_MS
    while (isWanted() && performance.now() < deadline) await sleep(POLL_MS)
  } finally {
    await resumeHeld(folder, machine)
  }
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
          `The virtual machine of ${sandboxId} runs, and only Atoll, which does not, can pause it: start Atoll, or stop all machines with atoll down.`
        )
      }
      // As long as a boot may take.
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
