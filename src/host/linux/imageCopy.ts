/**
 * Copies a volume's image. Where the file system has reflinks, the copy shares the blocks of the original until one of them changes: it takes
 * milliseconds and no room. Elsewhere the data is copied, and holes stay holes.
 *
 * @source ioctl_ficlone(2); lseek(2) SEEK_HOLE; cp(1)
 */
import { constants } from "node:fs"
import { chown, copyFile, open, rename, rm, stat } from "node:fs/promises"
import { hostCommand } from "./hostCommand.ts"
import { printable } from "./printable.ts"

/** A disk that is slower than this is not fit for use. */
const BYTES_PER_MS_MIN = 10_000
const START_MS = 60_000
const SHOWN_MAX_CHARS = 500

/** How the kernel says that it cannot share blocks: these files, or this file system, or at all. */
const WITHOUT_REFLINKS = new Set(["ENOTSUP", "EOPNOTSUPP", "ENOSYS", "ENOTTY", "EXDEV", "EINVAL"])

/** Shares all blocks of `from`. False, and no file, where the file system cannot. */
export const shareBlocks = async (from: string, to: string): Promise<boolean> => {
  try {
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === undefined || !WITHOUT_REFLINKS.has(code)) throw cause
    await rm(to, { force: true })
    return false
  }
}

/** The copy took longer than it may. */
export class CopyTooSlow extends Error {}

/**
 * Makes `to`, which does not exist. It is not on the disk yet: see `flushed`. Resolves with whether it shares its blocks with `from`.
 *
 * @param withinMs Rejects with CopyTooSlow after that time.
 */
export const copyImage = async (from: string, to: string, withinMs?: number): Promise<boolean> => {
  if (await shareBlocks(from, to)) return true
  const { blocks } = await stat(from)
  const timeoutMs = withinMs ?? START_MS + Math.ceil((blocks * 512) / BYTES_PER_MS_MIN)
  const copy = ["cp", "--no-target-directory", "--reflink=never", "--sparse=auto", "--", from, to] as const
  const { code, stderr } = await hostCommand(copy, null, { timeoutMs })
  if (code === 0) return false
  if (code === null) throw new CopyTooSlow(`${from} was not copied within ${timeoutMs} ms`)
  throw new Error(`cp ended with ${code}: ${printable(stderr, SHOWN_MAX_CHARS)}`)
}

/** Waits until a file's data, or a folder's names, survive a crash of the host. */
export const flushed = async (path: string): Promise<void> => {
  const file = await open(path, "r")
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * Makes the volume at `path` of a snapshot's image. A crash in between leaves no incomplete volume under its name. Resolves with whether it shares its
 * blocks with the snapshot.
 *
 * @param owner The file's owner on the host; null: this process's own user.
 * @param first It gets its name after this; where this rejects, there is no volume.
 */
export const copyVolume = async (
  image: string,
  path: string,
  owner: number | null,
  first: Promise<unknown> = Promise.resolve()
): Promise<boolean> => {
  const partial = `${path}.partial`
  await rm(partial, { force: true })
  try {
    const isShared = await copyImage(image, partial)
    // A file system with reflinks writes the copy to its log before the name.
    if (!isShared) await flushed(partial)
    if (owner !== null) await chown(partial, owner, owner)
    await first
    await rename(partial, path)
    return isShared
  } catch (cause) {
    await rm(partial, { force: true })
    throw cause
  }
}
