/**
 * A Sandbox's volume as a file: a sparse image with an ext4 file system, created without mounting anything. The image's size bounds the volume; it
 * takes space on the host's disk as the Sandbox writes.
 */
import { existsSync } from "node:fs"
import { chmod, chown, open, rename, rm, stat, truncate, writeFile } from "node:fs/promises"
import { hostCommand, mustRun } from "./hostCommand.ts"
import { withoutLostFound } from "./lostFound.ts"

export interface VolumeImage {
  readonly path: string
  readonly bytes: number
  /** The file's owner on the host; null: this process's own user. */
  readonly owner: number | null
  /** Additional extended options of mke2fs. @source mke2fs(8) */
  readonly extended: ReadonlyArray<string>
  /** The file system starts without `lost+found`. e2fsck creates it again when it needs it. */
  readonly isEmpty: boolean
}

/** Bytes of the host's disk that a file uses; null when there is no such file. */
export const allocatedBytes = (path: string): Promise<number | null> =>
  stat(path).then(
    ({ blocks }) => blocks * 512,
    (cause: NodeJS.ErrnoException) => {
      if (cause.code === "ENOENT") return null
      throw cause
    }
  )

/** Creates the image if it is missing. A crash in between leaves no incomplete image under its name. */
export const ensureVolumeImage = async (image: VolumeImage): Promise<void> => {
  if ((await allocatedBytes(image.path)) !== null) return
  const partial = `${image.path}.partial`
  await rm(partial, { force: true })
  const file = await open(partial, "wx", 0o600)
  await file.truncate(image.bytes)
  await file.close()
  // Tables and journal are written on first use: the file starts with less than a megabyte.
  const extended = ["lazy_itable_init=1", "lazy_journal_init=1", "nodiscard", ...image.extended].join(",")
  await mustRun(["mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-E", extended, partial])
  if (image.isEmpty) await mustRun(["debugfs", "-w", "-R", "rmdir lost+found", partial])
  await chmod(partial, 0o600)
  if (image.owner !== null) await chown(partial, image.owner, image.owner)
  await rename(partial, image.path)
}

/** e2fsck corrected something, and all is well. @source e2fsck(8) */
const CORRECTED = 1

const markerOf = (path: string): string => `${path}.growing`

/** Its file system is to become as large as the file. */
export const isGrowing = (path: string): boolean => existsSync(markerOf(path))

/**
 * Makes the file larger, then its file system by `grow`. A crash, a failure or `false` in between leaves a marker, and the next call goes on. Does
 * nothing to an image of this size or a larger one.
 */
export const growVolumeFile = async (path: string, bytes: number, grow: () => Promise<boolean>): Promise<void> => {
  const marker = markerOf(path)
  if (!isGrowing(path)) {
    if ((await stat(path)).size >= bytes) return
    await writeFile(marker, "")
  }
  if ((await stat(path)).size < bytes) await truncate(path, bytes)
  if (await grow()) await rm(marker)
}

/**
 * Grows an image that nothing has mounted.
 * @param as A guest may have written any bytes into it: the programs that read these run as this user; null: as this process's own.
 */
export const growVolumeImage = (path: string, bytes: number, as: number | null): Promise<void> =>
  growVolumeFile(path, bytes, async () => {
    const user = ["setpriv", `--reuid=${as}`, `--regid=${as}`, "--clear-groups", "--no-new-privs"] as const
    const run = (argv: readonly [string, ...ReadonlyArray<string>]) =>
      hostCommand(as === null ? argv : [...user, ...argv])
    await withoutLostFound(run, path, async () => {
      const checked = await run(["e2fsck", "-f", "-y", path])
      if (checked.code === null || checked.code > CORRECTED) throw new Error(`e2fsck ended with ${checked.code}`)
    })
    const grown = await run(["resize2fs", path])
    if (grown.code !== 0) throw new Error(`resize2fs ended with ${grown.code}`)
    return true
  })
