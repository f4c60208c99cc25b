/**
 * A Sandbox's volume, of which `/workspace` is a folder.
 *
 * As root it is a sparse ext4 image on a loop device: its size is enforced, and it holds the Sandbox's console file too, so that a Sandbox that
 * floods its console fills its own disk. Without root it is a plain folder.
 */

import { randomUUID } from "node:crypto"
import { existsSync, readFileSync, realpathSync, statfsSync, statSync } from "node:fs"
import { chmod, chown, mkdir, readdir, rename, rm, rmdir, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { letGo } from "../linux/holdMark.ts"
import { hostCommand } from "../linux/hostCommand.ts"
import { openTo } from "../linux/openTo.ts"
import type { Trash } from "../linux/Trash.ts"
import { removeTree, type TreeRemoval } from "../linux/treeRemoval.ts"
import { ensureVolumeImage } from "../linux/volumeImage.ts"
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
/** Prefix of what versions before this one put aside. */
const EARLIER_STALE = "stale-"
/** The file is made of holes; so the kernel need not write zeros in the background once it is mounted. */
const PREZEROED = ["assume_storage_prezeroed=1"]
const UNMOUNT_TRIES = 50
const UNMOUNT_WAIT_MS = 20

export const workspaceOf = (place: VolumePlace): string => join(place.folder, "workspace")

export const temporaryOf = (place: VolumePlace): string => join(place.folder, "tmp")

/** Removals under way, by the volume's folder: it cannot be unmounted while one is. */
const removals = new Map<string, TreeRemoval>()

const staleOf = (place: VolumePlace): string => join(place.folder, "stale")

/**
 * A new, empty /tmp for a boot. What the last one left is put aside and removed meanwhile, by a process in the cgroups that `serves` names; the next
 * boot goes on with what that has not done.
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

/** Removes a folder if there is nothing in it. */
const isEmptied = (path: string): Promise<boolean> =>
  rmdir(path).then(
    () => true,
    () => false
  )

/** Makes it if there is none and mounts it if it is not mounted. Safe to repeat after a crash at any point. */
export const openVolume = async (place: VolumePlace, sizeBytes: number, owner: number | null): Promise<void> => {
  await mkdir(place.folder, { recursive: true, mode: 0o700 })
  if (place.image !== null) {
    await ensureVolumeImage({ path: place.image, bytes: sizeBytes, owner: null, extended: PREZEROED, isEmpty: false })
    if (!isMounted(place.folder)) await letGo(place.image)
    if (!isMounted(place.folder)) await mountImage(place.image, place.folder)
  }
  // The mounted image's own root by now.
  await openTo(place.folder, owner)
  const workspace = workspaceOf(place)
  await mkdir(workspace, { recursive: true, mode: 0o755 })
  if (owner !== null && (await stat(workspace)).uid !== owner) await chown(workspace, owner, owner)
}

/** Unmounts it; the bytes stay. */
export const closeVolume = async (place: VolumePlace): Promise<void> => {
  await removals.get(place.folder)?.cancel()
  removals.delete(place.folder)
  if (place.image === null) return
  for (let tries = 0; isMounted(place.folder); tries++) {
    // Were it unmounted lazily while it is held, another mount of the same image could come beside it.
    await letGo(place.image)
    await thawAbandoned(place.image, place.folder)
    // The last processes of the Sandbox may still be dying; a lazy unmount frees the loop device when they are dead.
    const lazy = tries >= UNMOUNT_TRIES
    const { code, stderr } = await hostCommand(lazy ? ["umount", "-l", place.folder] : ["umount", place.folder])
    if (code === 0) continue
    if (lazy) throw new Error(`umount: ${stderr.trim()}`)
    await new Promise((resolve) => setTimeout(resolve, UNMOUNT_WAIT_MS))
  }
  // Never recursively: were it mounted after all, that would be the volume.
  if (existsSync(place.folder)) await rmdir(place.folder)
}

/** Removes it for good, an image at once. */
export const removeVolume = async (place: VolumePlace, trash: Trash): Promise<void> => {
  await closeVolume(place)
  if (place.image === null) await trash.discard(place.folder)
  else await rm(place.image, { force: true })
}

/**
 * Bytes in use, as `df` counts them; null without an image of its own. The kernel knows the answers without a disk: asked at once, they cost
 * a fortieth of what they do by way of libuv's threads.
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

/** Another file system than around it: cheaper than reading the list of mounts, and enough where the mount is ours. */
const isMountPoint = (folder: string): boolean => statSync(folder).dev !== statSync(dirname(folder)).dev

const mountImage = async (image: string, folder: string): Promise<void> => {
  const { code, stderr } = await hostCommand(["mount", "-t", "ext4", "-o", MOUNT_OPTIONS, image, folder])
  if (code === 0) return
  if (/loop device|could not find any free|failed to setup/i.test(stderr)) throw new LoopDevicesExhausted(stderr.trim())
  throw new Error(`mount ended with ${code}: ${stderr.trim()}`)
}

export const isMounted = (folder: string): boolean => {
  const path = existsSync(folder) ? realpathSync(folder) : folder
  // Spaces and the like are written in octal there.
  const written = path.replace(/[\s\\]/g, (it) => `\\${it.charCodeAt(0).toString(8).padStart(3, "0")}`)
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .some((line) => line.split(" ")[4] === written)
}
