/**
 * A Sandbox's volume as a file: a sparse image with an ext4 file system, created without mounting anything. The image's size bounds the volume; it
 * takes space on the host's disk as the Sandbox writes.
 */
import { chmod, chown, open, rename, rm, stat } from "node:fs/promises"
import { mustRun } from "./hostCommand.ts"

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
