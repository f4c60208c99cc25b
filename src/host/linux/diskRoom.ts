/**
 * Checks whether a disk has room for a new file. Every reserved byte counts as used, written or not, so that no admitted Sandbox can be blocked by
 * another's growth. The database is often on the same disk, hence a reserve.
 */
import { statfs } from "node:fs/promises"
import { dirname } from "node:path"
import { allocatedBytes } from "./volumeImage.ts"

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
  /** The sparse file with the file system of `folder`; absent or null: `folder` is on a disk itself. */
  readonly pool?: string | null
}

/** Whether a fault of Node, or what a program wrote, says that a disk is full. */
export const saysDiskFull = (message: string): boolean => /ENOSPC|No space left on device/.test(message)

/** Bytes that these files may still grow by. */
export const owedBytes = (files: ReadonlyArray<PromisedFile>): number =>
  files.reduce((sum, { bytes, allocatedBytes }) => sum + Math.max(0, bytes - allocatedBytes), 0)

export const freeDiskBytes = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/**
 * Free bytes of a file system in a sparse file, on a disk that others fill as well. What the file system counts as used and the disk has not given
 * yet is not free: data still to be written, and room that it keeps for its own tables.
 *
 * @param pool The sparse file.
 * @param writtenBytes What the files of `folder` have allocated, each for itself. Files that share blocks may each come to need their own.
 */
export const freePoolBytes = async (folder: string, pool: string, writtenBytes: number): Promise<number> => {
  const { blocks, bfree, bavail, bsize } = await statfs(folder)
  const usedBytes = (blocks - bfree) * bsize
  const claimedBytes = Math.max(usedBytes, writtenBytes)
  const below = await freeDiskBytes(dirname(pool))
  const givenBytes = (await allocatedBytes(pool)) ?? 0
  return Math.min(bavail * bsize - (claimedBytes - usedBytes), below - Math.max(0, claimedBytes - givenBytes))
}

const freeFor = ({ folder, held, pool }: DiskQuestion): Promise<number> => {
  if (pool === undefined || pool === null) return freeDiskBytes(folder)
  return freePoolBytes(
    folder,
    pool,
    held.reduce((sum, file) => sum + file.allocatedBytes, 0)
  )
}

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MiB`

/** Null when there is room; otherwise one sentence for the operator. */
export const diskObstacle = async (question: DiskQuestion): Promise<string | null> => {
  const { folder, held, wanted, reserveBytes } = question
  const free = await freeFor(question)
  const owed = owedBytes(held)
  const needed = owedBytes(wanted)
  if (free - owed - needed >= reserveBytes) return null
  return `The disk of ${folder} has ${mebibytes(Math.max(0, free))} left. Of these, ${mebibytes(owed)} are reserved for Sandboxes and ${mebibytes(reserveBytes)} are kept for the host, and ${mebibytes(needed)} are needed: delete a Sandbox, or give ATOLL_DATA_DIR more room.`
}
