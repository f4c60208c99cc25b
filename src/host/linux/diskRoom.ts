/**
 * Checks whether a disk has room for a new file. Every reserved byte counts as used, written or not, so that no admitted Sandbox can be blocked by
 * another's growth. The database is often on the same disk, hence a reserve.
 */
import { statfs } from "node:fs/promises"

/** A file that may grow to a reserved size. */
export interface PromisedFile {
  /** The reserved size. */
  readonly bytes: number
  /** Bytes on the disk now. */
  readonly allocatedBytes: number
}

export interface DiskQuestion {
  /** Any folder on the disk. */
  readonly folder: string
  /** Files of the Sandboxes already admitted. */
  readonly held: ReadonlyArray<PromisedFile>
  readonly wanted: ReadonlyArray<PromisedFile>
  readonly reserveBytes: number
}

/** Bytes that these files may still grow by. */
export const owedBytes = (files: ReadonlyArray<PromisedFile>): number =>
  files.reduce((sum, { bytes, allocatedBytes }) => sum + Math.max(0, bytes - allocatedBytes), 0)

export const freeDiskBytes = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MiB`

/** Null when there is room; otherwise one sentence for the operator. */
export const diskObstacle = async ({ folder, held, wanted, reserveBytes }: DiskQuestion): Promise<string | null> => {
  const free = await freeDiskBytes(folder)
  const owed = owedBytes(held)
  const needed = owedBytes(wanted)
  if (free - owed - needed >= reserveBytes) return null
  return `The disk of ${folder} has ${mebibytes(free)} left. Of these, ${mebibytes(owed)} are reserved for Sandboxes and ${mebibytes(reserveBytes)} are kept for the host, and ${mebibytes(needed)} are needed: delete a Sandbox, or give ATOLL_DATA_DIR more room.`
}
