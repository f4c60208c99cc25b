/**
 * Whether a disk has room for what may be written on it: everything that was promised counts as written, whether it is or not, so that nobody who
 * was let in is held up by another's growth. The disk is often the database's too, hence a reserve.
 */
import { statfs } from "node:fs/promises"

/** One file that may grow. */
export interface PromisedFile {
  /** All that it may ever take. */
  readonly bytes: number
  /** What of it is on the disk by now. */
  readonly allocatedBytes: number
}

export interface DiskQuestion {
  /** A folder on the disk. */
  readonly folder: string
  /** Files of those who were let in, and of the one that asks. */
  readonly held: ReadonlyArray<PromisedFile>
  readonly wanted: ReadonlyArray<PromisedFile>
  readonly reserveBytes: number
}

/** What is still to come of these files. */
export const owedBytes = (files: ReadonlyArray<PromisedFile>): number =>
  files.reduce((sum, { bytes, allocatedBytes }) => sum + Math.max(0, bytes - allocatedBytes), 0)

export const freeDiskBytes = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MiB`

/** Null when there is room; else one sentence for the operator. */
export const diskObstacle = async ({ folder, held, wanted, reserveBytes }: DiskQuestion): Promise<string | null> => {
  const free = await freeDiskBytes(folder)
  const owed = owedBytes(held)
  const needed = owedBytes(wanted)
  if (free - owed - needed >= reserveBytes) return null
  return `The disk of ${folder} has ${mebibytes(free)} left, of which ${mebibytes(owed)} are promised to Sandboxes and ${mebibytes(reserveBytes)} are kept for the host, and ${mebibytes(needed)} are needed: delete a Sandbox, or give ATOLL_DATA_DIR more room.`
}
