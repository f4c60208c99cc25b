/**
 * A Sandbox's volume, of which `/workspace` is a folder.
 *
 * As root it is a sparse ext4 image on a loop device, so its size is enforced. It also holds the Sandbox's console file, so a Sandbox that floods its
 * console fills its own disk. Without root it is a plain folder.
 */

import { randomUUID } from "node:crypto"
import { existsSync, statfsSync, statSync } from "node:fs"
import { chmod, chown, mkdir, readdir, rename, rm, rmdir, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { UserRange } from "../linux/HostUsers.ts"
import { letGo } from "../linux/holdMark.ts"
import { hostCommand } from "../linux/hostCommand.ts"
import { giveFiles } from "../linux/idmapMount.ts"
import { mountedByProgram } from "../linux/mountImage.ts"
import { isMounted } from "../linux/mountTable.ts"
import { openTo } from "../linux/openTo.ts"
import type { Trash } from "../linux/Trash.ts"
import { removeTree, type TreeRemoval } from "../linux/treeRemoval.ts"
import { ensureVolumeImage, growVolumeImage } from "../linux/volumeImage.ts"
import { thawAbandoned } from "./volumeHold.ts"

export interface VolumePlace {
  /** The image; absent without root. */
  readonly image: string | null
  /** The mount point, or the plain folder. */
  readonly folder: string
}

/** No loop device is free. */
export class LoopDevicesExhausted extends Error {}

const MOUNT_OPTIONS = "loop,nosuid,nodev,noatime,discard"
/** Prefix that earlier versions gave to a /tmp that waits for removal. */
const EARLIER_STALE = "stale-"
/** The image is all holes, so the kernel need not write zeros in the background after the mount. */
export const PREZEROED = ["assume_storage_prezeroed=1"]
const UNMOUNT_TRIES = 50
const UNMOUNT_WAIT_MS = 20

export const workspaceOf = (place: VolumePlace): string => join(place.folder, "workspace")

export const temporaryOf = (place: VolumePlace): string => join(place.folder, "tmp")

/** Images whose last unmount was lazy. An earlier version may have mounted them without the lock that `mountimage.c` looks at. */
const detaching = new Set<string>()

/** Running removals, by the volume's folder: a volume cannot be unmounted during one. */
const removals = new Map<string, TreeRemoval>()

const staleOf = (place: VolumePlace): string => join(place.folder, "stale")

/**
 * Makes an empty /tmp for a boot. Moves the previous content aside and removes it concurrently, in a process in the `serves` cgroups. The next boot
 * continues an unfinished removal.
 */
export const freshTemporary = async (
  place: VolumePlace,
  owner: number | null,
  serves: ReadonlyArray<string>
): Promise<void> => {
  const path = temporaryOf(place)
  const stale = staleOf(place)
  for (const name of await readdir(place.folder)) {
    const isEarlier = name.startsWith(EARLIER_STALE)
    if (!isEarlier && (name !== "tmp" || (await isEmptied(path)))) continue
    await mkdir(stale, { recursive: true, mode: 0o700 })
    await rename(join(place.folder, name), join(stale, randomUUID()))
  }
  if (existsSync(stale)) {
    await removals.get(place.folder)?.cancel()
    removals.set(place.folder, removeTree(stale, serves))
  }
  await mkdir(path)
  await chmod(path, 0o1777)
  if (owner !== null) await chown(path, owner, owner)
}

/** Removes an empty folder. False when it is not empty. */
const isEmptied = (path: string): Promise<boolean> =>
  rmdir(path).then(
    () => true,
    () => false
  )

/**
 * Creates the volume if it is missing, grows one that is smaller, and mounts it if it is not mounted. Safe to repeat after a crash at any point.
 *
 * @param range Further users whose files stay theirs.
 * @param filesOf The user of its files on the disk, where that is not the owner: the volume is a copy of another Sandbox's. Resolves with who that is now.
 */
export const openVolume = async (
  place: VolumePlace,
  sizeBytes: number,
  owner: number | null,
  filesOf: number | null = owner,
  range: UserRange | null = null
): Promise<number | null> => {
  await mkdir(place.folder, { recursive: true, mode: 0o700 })
  if (place.image !== null) {
    await ensureVolumeImage({ path: place.image, bytes: sizeBytes, owner: null, extended: PREZEROED, isEmpty: false })
    if (!isMounted(place.folder)) await letGo(place.image)
    if (!isMounted(place.folder)) await growVolumeImage(place.image, sizeBytes, null)
    if (!isMounted(place.folder)) await mountImage(place.image, place.folder)
  }
  const isOther = place.image !== null && owner !== null && filesOf !== null
  const onDisk = isOther ? await giveFiles(place.folder, filesOf, owner, range) : owner
  // The folder is now the root of the mounted image.
  await openTo(place.folder, owner)
  const workspace = workspaceOf(place)
  await mkdir(workspace, { recursive: true, mode: 0o755 })
  if (owner !== null && (await stat(workspace)).uid !== owner) await chown(workspace, owner, owner)
  return onDisk
}

/** Unmounts the volume; its content stays. */
export const closeVolume = async (place: VolumePlace): Promise<void> => {
  await removals.get(place.folder)?.cancel()
  removals.delete(place.folder)
  if (place.image === null) return
  for (let tries = 0; isMounted(place.folder); tries++) {
    // Waits for the holder first: after a lazy unmount of a held volume, the same image could be mounted a second time.
    await letGo(place.image)
    await thawAbandoned(place.image, place.folder)
    // The Sandbox's last processes may still be dying. A lazy unmount frees the loop device when they are dead.
    const lazy = tries >= UNMOUNT_TRIES
    if (lazy) detaching.add(place.image)
    const { code, stderr } = await hostCommand(lazy ? ["umount", "-l", place.folder] : ["umount", place.folder])
    if (code === 0) continue
    if (lazy) throw new Error(`umount: ${stderr.trim()}`)
    await new Promise((resolve) => setTimeout(resolve, UNMOUNT_WAIT_MS))
  }
  // Never recursive: if the unmount had failed, that would delete the volume.
  if (existsSync(place.folder)) await rmdir(place.folder)
}

/** Deletes the volume. An image is deleted immediately, a folder through the trash. */
export const removeVolume = async (place: VolumePlace, trash: Trash): Promise<void> => {
  await closeVolume(place)
  if (place.image !== null) detaching.delete(place.image)
  if (place.image === null) await trash.discard(place.folder)
  else await rm(place.image, { force: true })
}

/**
 * Bytes in use, as `df` counts them; null without an image. The kernel answers without disk access, so the synchronous call costs a fortieth of one
 * through libuv's threads.
 */
export const volumeUsedBytes = (place: VolumePlace): number | null => {
  try {
    if (place.image === null || !isMountPoint(place.folder)) return null
    const { blocks, bfree, bsize } = statfsSync(place.folder)
    return (blocks - bfree) * bsize
  } catch {
    // It is being unmounted.
    return null
  }
}

/** Whether the folder is on another file system than its parent. Cheaper than reading the mount table, and enough where the mount is ours. */
const isMountPoint = (folder: string): boolean => statSync(folder).dev !== statSync(dirname(folder)).dev

const mountImage = async (image: string, folder: string): Promise<void> => {
  // Otherwise mount(8) finds out why, or finds the loop device that still has the image.
  if (!detaching.has(image) && (await mountedByProgram(image, folder))) return
  const { code, stderr } = await hostCommand(["mount", "-t", "ext4", "-o", MOUNT_OPTIONS, image, folder])
  if (code === 0) return
  if (/loop device|could not find any free|failed to setup/i.test(stderr)) throw new LoopDevicesExhausted(stderr.trim())
  throw new Error(`mount ended with ${code}: ${stderr.trim()}`)
}
