/**
 * A Sandbox's volume: a sparse raw file with an ext4 in it, made without mounting anything. Its size is the bound; the host's disk is used as
 * the guest writes, and given back as it deletes (discard).
 */
import { execFile } from "node:child_process"
import { chmod, chown, open, rename, rm, stat } from "node:fs/promises"
import { promisify } from "node:util"
import { recipe } from "./image/recipe.ts"

const execute = promisify(execFile)

/** Bytes of the host's disk that a file uses; null when there is no such file. */
export const allocatedBytes = (path: string): Promise<number | null> =>
  stat(path).then(
    ({ blocks }) => blocks * 512,
    () => null
  )

/** Does nothing when the volume is there. A crash in between leaves no half-made volume under its name. */
export const ensureVolume = async (path: string, bytes: number, uid: number | null): Promise<void> => {
  if ((await allocatedBytes(path)) !== null) return
  const partial = `${path}.partial`
  await rm(partial, { force: true })
  const file = await open(partial, "wx", 0o600)
  await file.truncate(bytes)
  await file.close()
  const { uid: owner, gid } = recipe.user
  // Tables and journal are written when they are needed: the file starts with less than a megabyte.
  const extended = `lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=${owner}:${gid}`
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" }
  await execute("mke2fs", ["-q", "-F", "-t", "ext4", "-m", "0", "-E", extended, partial], { env })
  // /workspace begins empty; e2fsck makes the directory again when it has something to put there.
  await execute("debugfs", ["-w", "-R", "rmdir lost+found", partial], { env })
  await chmod(partial, 0o600)
  if (uid !== null) await chown(partial, uid, uid)
  await rename(partial, path)
}
