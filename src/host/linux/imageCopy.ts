/**
 * Copies a volume's image. Where the file system has reflinks, the copy shares the blocks of the original until one of them changes: it takes
 * milliseconds and no room. Elsewhere the data is copied, and holes stay holes.
 *
 * @source ioctl_ficlone(2); lseek(2) SEEK_HOLE; cp(1)
 */
import { constants } from "node:fs"
import { copyFile, open, rm, stat } from "node:fs/promises"
import { mustRun } from "./hostCommand.ts"

/** A disk that is slower than this is not fit for use. */
const BYTES_PER_MS_MIN = 10_000
const START_MS = 60_000

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

/** Makes `to`, which does not exist. It is not on the disk yet: see `flushed`. Resolves with whether it shares its blocks with `from`. */
export const copyImage = async (from: string, to: string): Promise<boolean> => {
  if (await shareBlocks(from, to)) return true
  const { blocks } = await stat(from)
  const timeoutMs = START_MS + Math.ceil((blocks * 512) / BYTES_PER_MS_MIN)
  await mustRun(["cp", "--no-target-directory", "--reflink=never", "--sparse=auto", "--", from, to], null, timeoutMs)
  return false
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
