/**
 * The files of a machine that is to go on with the memory of a snapshot. All such machines map the same file, which nothing changes: each has a link to
 * it in a folder that only its own user may enter, because other users of this host must not read it.
 */
import { chmod, chown, link, mkdir, rm } from "node:fs/promises"
import { waitForAll } from "../../platform/concurrency/waitForAll.ts"
import { copyVolume } from "../linux/imageCopy.ts"
import type { StoredMemory } from "../linux/SnapshotStore.ts"
import type { SandboxFolder } from "./SandboxFolder.ts"

/** Removes what a rollback or an attempt to fork has laid beside the volume of a machine that does not run. */
export const dropFork = async (folder: SandboxFolder): Promise<void> => {
  await rm(folder.file("overlay"), { force: true })
  await rm(folder.file("forkFolder"), { recursive: true, force: true })
}

/**
 * Lays them down, also over those of an earlier attempt. The volume is the last: until then the machine has the one that it had. Where this rejects, it has
 * no root disk and no memory. Resolves with whether volume and root disk share their blocks with the snapshot's.
 */
export const layDownFork = async (
  folder: SandboxFolder,
  image: string,
  memory: StoredMemory,
  uid: number | null
): Promise<boolean> => {
  const linkMemory = async () => {
    const own = folder.file("forkFolder")
    await rm(own, { recursive: true, force: true })
    await mkdir(own, { mode: 0o700 })
    if (uid !== null) {
      // QEMU may enter it, and may not change it.
      await chown(own, process.getuid!(), uid)
      await chmod(own, 0o710)
    }
    await link(memory.state, folder.file("forked"))
  }
  try {
    const laidDown = waitForAll(copyVolume(memory.rootDisk, folder.file("overlay"), uid), linkMemory())
    const [isShared] = await waitForAll(copyVolume(image, folder.file("volume"), uid, laidDown), laidDown)
    return isShared
  } catch (cause) {
    await dropFork(folder)
    throw cause
  }
}
