/**
 * Saves the memory and the root disk of a machine for a snapshot, of one instant with its volume.
 *
 * QEMU writes the memory while the machine runs. When little is left, the guest's programs stop, then the machine, and QEMU writes the rest and what has
 * changed meanwhile. Its disks are written out then, and nothing changes them until it goes on: the caller copies the volume there. The memory has what
 * the guest has not yet written to its disks.
 *
 * Why the programs stop first: a machine that goes on with the memory gives them its own names, clock and random numbers before they run
 * again: none of them uses the source's, and no two copies make the same "random" value.
 *
 * @source QEMU docs/devel/migration/main.rst, mapped-ram.rst
 */
import { createHash } from "node:crypto"
import { constants } from "node:fs"
import { chmod, chown, open, rename, rm } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { Schema } from "effect"
import { PROTOCOL } from "../../agent/health.ts"
import { waitForAll } from "../../platform/concurrency/waitForAll.ts"
import { fileExtents } from "../linux/fileExtents.ts"
import { copyImage } from "../linux/imageCopy.ts"
import type { StoredMemory } from "../linux/SnapshotStore.ts"
import type { LiveMachine } from "./LiveMachines.ts"
import { type Machine, save, stopPrograms } from "./Machine.ts"
import { type MachineShape, machineArguments, machineFiles } from "./machineArguments.ts"
import { PAUSE_MAX_MS, writeOut } from "./machineHold.ts"
import type { RunningSave } from "./migration.ts"
import { hasRoomForThreads } from "./parallelSave.ts"
import type { SandboxFolder } from "./SandboxFolder.ts"
import { likelyReason } from "./Stall.ts"
import { zeroAbsentPages } from "./savedMemory.ts"

/** A guest that changes its memory quickly is stopped then. */
const RUNS_WITHIN_MS = 10_000
/** Between two writes of a state that grows. */
const WRITTEN_PAUSE_MS = 10

const Part = Schema.Int
const decodeVersion = Schema.decodeUnknownSync(
  Schema.Struct({ qemu: Schema.Struct({ major: Part, minor: Part, micro: Part }), package: Schema.String })
)

/** The first version is left out, as in the keys of earlier releases. */
const agentVersion = PROTOCOL > 1 ? [PROTOCOL] : []

/** Which machines can load a state: those with the same devices and sizes, on the same QEMU, for a service that speaks with the agent in it. */
export const machineKey = (qemuVersion: string, shape: MachineShape): string => {
  const argv = machineArguments(shape, { uuid: "", start: { type: "wake", mapped: null } })
  return createHash("sha256")
    .update(JSON.stringify([qemuVersion, shape, argv, ...agentVersion]))
    .digest("hex")
    .slice(0, 24)
}

/** The version of the QEMU that runs this machine, as `--version` prints it. An older QEMU may have started it. */
export const versionOf = async ({ qmp }: Machine): Promise<string> => {
  const { qemu, package: from } = decodeVersion(await qmp.execute("query-version"))
  return `QEMU emulator version ${qemu.major}.${qemu.minor}.${qemu.micro}${from === "" ? "" : ` (${from})`}`
}

type Captured = Pick<LiveMachine, "machine" | "record">

/**
 * Writes a file to the disk while QEMU makes it, so that little is left when it is complete. Rejects where that fails: the kernel may tell of a failure
 * only once.
 *
 * The first close after QEMU has emptied the file comes early: for that one, ext4 has all that was written to it written to the disk
 * (`auto_da_alloc`), and QEMU's own would hold the machine meanwhile.
 */
const writtenOut = async (path: string, isComplete: () => boolean): Promise<void> => {
  const opened = async () => {
    try {
      return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    } catch (cause) {
      // A short save is complete, and its file has another name.
      if (isComplete() && (cause as NodeJS.ErrnoException).code === "ENOENT") return null
      throw cause
    }
  }
  await (await opened())?.close()
  const file = await opened()
  if (file === null) return
  try {
    while (!isComplete()) {
      await file.datasync()
      await sleep(WRITTEN_PAUSE_MS)
    }
  } finally {
    await file.close()
  }
}

/** Resolves when the state is saved; `written` later, when most of it is on the disk. */
const saveAll = async (
  folder: SandboxFolder,
  { machine, record }: Captured,
  running?: RunningSave
): Promise<{ readonly written: Promise<void> }> => {
  await folder.makeEmpty("captured", record.uid)
  const byThreads = await hasRoomForThreads(folder.path, record.memoryBytes)
  let isComplete = false
  let written: Promise<void> | null = null
  const unlisten = machine.qmp.listen(({ event, data }) => {
    if (event !== "MIGRATION" || data["status"] !== "active") return
    written ??= writtenOut(folder.file("captured"), () => isComplete)
    written.catch(() => {})
  })
  try {
    await save(machine, machineFiles.captured, { memoryIsShared: false, byThreads, running })
  } finally {
    isComplete = true
    unlisten()
  }
  return { written: written ?? Promise.resolve() }
}

/**
 * Has QEMU save the memory and stop the machine, whose programs have stopped before. `pauses` is called when they are asked to. A guest that refuses is
 * saved as it is.
 */
const saveStill = async (folder: SandboxFolder, captured: Captured, pauses: () => void) => {
  const { machine } = captured
  let asked: Promise<void> | null = null
  let isAnswered = false
  // Also the volume alone has what was written before the call.
  const flushed = writeOut(machine)
  const ask = () => {
    asked ??= flushed
      .then(pauses)
      .then(() => stopPrograms(machine))
      .finally(() => {
        isAnswered = true
      })
    return asked
  }
  const saved = await saveAll(folder, captured, {
    stopWithinMs: RUNS_WITHIN_MS,
    mayStop: flushed,
    beforeStop: ask
  })
  if (isAnswered) return saved
  // QEMU found nothing more to save, and did not wait.
  await machine.qmp.execute("cont")
  await ask()
  await machine.qmp.execute("stop")
  return await saveAll(folder, captured)
}

/** QEMU does not always say that the disk is full. */
const failedSave = async (folder: SandboxFolder, cause: unknown): Promise<never> => {
  if ((await likelyReason(folder.path)).code !== "HOST_FULL") throw cause
  throw new Error(`ENOSPC: ${cause instanceof Error ? cause.message : String(cause)}`)
}

/**
 * Saves the memory of a running machine to `saved`. QEMU stops the machine at the end: the root disk and what `copyVolume` copies are of that instant.
 * The machine still stands afterwards. Resolves with a further promise, for the memory to be complete (`settleMemory`).
 */
export const saveMemory = async <A>(
  folder: SandboxFolder,
  captured: Captured,
  saved: StoredMemory,
  { pauses, copyVolume }: { readonly pauses: () => void; readonly copyVolume: () => Promise<A> }
): Promise<{ readonly copied: A; readonly settled: Promise<void> }> => {
  await rm(saved.rootDisk, { force: true })
  const { written } = await saveStill(folder, captured, pauses).catch((cause: unknown) => failedSave(folder, cause))
  await rename(folder.file("captured"), saved.state)
  const settled = settleMemory(saved.state, captured.record.memoryBytes, written)
  settled.catch(() => {})
  const [copied] = await waitForAll(copyVolume(), copyImage(folder.file("overlay"), saved.rootDisk, PAUSE_MAX_MS))
  return { copied, settled }
}

/** Completes a saved state, which many machines may map and none changes, once `written` resolves. */
const settleMemory = async (state: string, memoryBytes: number, written: Promise<void>): Promise<void> => {
  const [extents] = await waitForAll(fileExtents(state), written)
  if (process.getuid!() === 0) await chown(state, 0, 0)
  const file = await open(state, constants.O_RDWR | constants.O_NOFOLLOW)
  try {
    await zeroAbsentPages(file, memoryBytes, extents ?? undefined)
  } finally {
    await file.close()
  }
  await chmod(state, 0o444)
}

/** Copies the memory of a sleeping machine, and completes the copy. */
export const copySleeping = async (folder: SandboxFolder, to: StoredMemory, memoryBytes: number): Promise<void> => {
  await copyImage(folder.file("overlay"), to.rootDisk)
  await copyImage(folder.file("suspended"), to.state)
  await settleMemory(to.state, memoryBytes, Promise.resolve())
}
