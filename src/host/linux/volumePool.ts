/**
 * The volume pool: an XFS file system over the driver's folder, so that a copy of a volume shares its blocks (reflink). As root on ext4, which cannot
 * do that itself, a new data folder gets one.
 *
 *     <data>/runtime/.namespace.xfs    the file system: a sparse file
 *     <data>/runtime/.namespace.lock   locked while the pool is made, mounted or unmounted, and until the driver's own lock in it is held
 *
 * Once the file exists, the driver never goes on without it: what is below the mount would look like a folder without Sandboxes. XFS itself refuses
 * a second mount of one UUID over another loop device; mount(8) uses the loop device that a killed service or another mount namespace left.
 *
 * @source mkfs.xfs(8), xfs_growfs(8), mount(8), mount_namespaces(7)
 */
import { existsSync, statSync } from "node:fs"
import { mkdir, open, readdir, rename, rm, rmdir, stat, statfs, truncate } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { FileLock } from "../../platform/fileLock/FileLock.ts"
import { hostCommand, mustRun } from "./hostCommand.ts"
import { isMounted } from "./mountTable.ts"
import { nearestFolder } from "./nearestFolder.ts"
import { missingPackages } from "./programs.ts"

/** Whether a new data folder gets a pool. */
export type PoolChoice = "auto" | "off"

/** @source statfs(2) EXT4_SUPER_MAGIC, also of ext2 and ext3 */
const EXT4 = 0xef53
/** btrfs and XFS. On an XFS of before 2018 a copy takes its whole size, as without a pool. */
const WITH_REFLINKS: ReadonlyArray<number> = [0x9123683e, 0x58465342]
/** On a smaller disk the log of XFS (64 MiB, allocated from the start) would be a noticeable part. */
const DISK_MIN_BYTES = 1024 ** 3
/** ext4 has no file of 16 TiB. */
const POOL_MAX_BYTES = 15 * 1024 ** 4
const BLOCK_BYTES = 4096
const MOUNT_OPTIONS = "loop,nosuid,nodev,noatime,discard"
/** Another process makes or mounts it within this time. */
const LOCK_WAIT_SECONDS = 30
/** A process that reads a file there, such as a backup, may be ending. */
const UNMOUNT_TRIES = 10
const UNMOUNT_WAIT_MS = 20
const LIVE_TRIES = 50
const LIVE_WAIT_MS = 100
/** What the driver makes again. */
const DISPOSABLE = /^\.(users|etc|blank|trash|run|node-.*)$/

/** @param stateFolder The driver's folder of Sandboxes. */
export const poolImageOf = (stateFolder: string): string => join(dirname(stateFolder), `.${basename(stateFolder)}.xfs`)

/** The folder over which the pool of a data folder is mounted: the namespace driver's. */
export const pooledFolder = (dataDir: string): string => join(dataDir, "runtime", "namespace")

/** The pool that exists here, mounted or not; null without one. */
export const existingPool = (stateFolder: string): string | null => {
  const image = poolImageOf(stateFolder)
  return existsSync(image) ? image : null
}

/** Whether Sandboxes may be in a pool that cannot be looked into: it is not mounted, as after a reboot, or has shut down after a fault of its disk. */
export const isPoolClosed = (stateFolder: string): boolean =>
  existingPool(stateFolder) !== null && (hasShutDown(stateFolder) || !isMounted(stateFolder))

const hasShutDown = (stateFolder: string): boolean => {
  try {
    statSync(stateFolder)
    return false
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "EIO"
  }
}

/** Runs `act` while no other process makes, mounts or unmounts the pool of this folder. */
export const inPoolTurn = async <A>(stateFolder: string, act: () => Promise<A>): Promise<A> => {
  const turn = await FileLock.open(join(dirname(stateFolder), `.${basename(stateFolder)}.lock`))
  try {
    if (!(await turn.exclusive(LOCK_WAIT_SECONDS)))
      throw new Error(`The volume pool of ${stateFolder} is being opened by another Atoll`)
    return await act()
  } finally {
    await turn.close()
  }
}

export interface PoolObstacle {
  /** A clause. */
  readonly why: string
  /** A sentence or a command; null where no pool is needed. */
  readonly mend: string | null
}

/** Why no pool would be made here now; null when one would be. Changes nothing. */
export const poolObstacle = async (stateFolder: string, choice: PoolChoice): Promise<PoolObstacle | null> => {
  const disk = await statfs(nearestFolder(stateFolder))
  if (WITH_REFLINKS.includes(disk.type))
    return { why: "the data folder's own file system (XFS or btrfs) can share blocks", mend: null }
  if (process.getuid?.() !== 0) return { why: "Atoll is not root", mend: "Start Atoll as root: sudo -E npm run up" }
  if (choice === "off") return { why: "ATOLL_VOLUME_POOL is off", mend: "Unset it, and use a new data folder." }
  if (disk.type !== EXT4)
    return { why: "the data folder is not on ext4", mend: "Set ATOLL_DATA_DIR to a folder on ext4, XFS or btrfs." }
  if (disk.blocks * disk.bsize < DISK_MIN_BYTES)
    return { why: "the disk is smaller than 1 GiB", mend: "Set ATOLL_DATA_DIR to a larger disk." }
  if (!(await isDisposable(stateFolder)))
    return { why: "the data folder had Sandboxes before it could have a pool", mend: "Use a new data folder." }
  if (missingPackages({ "mkfs.xfs": "xfsprogs" }).length > 0)
    return { why: "mkfs.xfs is not here", mend: "apt-get install xfsprogs" }
  return existsSync("/dev/loop-control")
    ? null
    : { why: "there is no /dev/loop-control", mend: "modprobe loop, or pass the loop devices into this container." }
}

/** Whether nothing in the folder is of value: no Sandbox, no record of a volume, and nothing that this version does not know. */
const isDisposable = async (stateFolder: string): Promise<boolean> => {
  for (const entry of await readdir(stateFolder, { withFileTypes: true }).catch(ifThere([]))) {
    if (DISPOSABLE.test(entry.name)) continue
    if (!entry.isDirectory() || (await readdir(join(stateFolder, entry.name))).length > 0) return false
  }
  return true
}

const ifThere =
  <A>(otherwise: A) =>
  (cause: NodeJS.ErrnoException): A => {
    if (cause.code === "ENOENT") return otherwise
    throw cause
  }

/**
 * Mounts the pool; makes one where `poolObstacle` has nothing against it. To be called in the pool's turn. Returns its file, or null: there is none,
 * and none was made. Rejects when there is one that cannot be mounted.
 *
 * @param failed Told why none could be made.
 */
export const openPool = async (
  stateFolder: string,
  choice: PoolChoice,
  failed: (why: string) => void = () => {}
): Promise<string | null> => {
  const image = poolImageOf(stateFolder)
  if (hasShutDown(stateFolder)) await mustRun(["umount", "-l", stateFolder])
  if (isMounted(stateFolder)) {
    // The process that made it was killed before it gave the file its name.
    if (!existsSync(image) && existsSync(partialOf(image))) await publish(image)
    // Without the file it is the operator's own disk.
    return existingPool(stateFolder)
  }
  if (existsSync(image)) {
    await openExisting(image, stateFolder)
    return image
  }
  // Of a process that was killed before it had made one.
  await removeBarrier(stateFolder)
  if ((await poolObstacle(stateFolder, choice)) !== null || !(await isUnused(stateFolder))) return null
  return await make(image, stateFolder).then(
    () => image,
    (cause: Error) => {
      failed(cause.message)
      return null
    }
  )
}

const partialOf = (image: string): string => `${image}.partial`

/** Where the driver without a pool has a file. A process that does not know of the pool, such as an earlier version, ends when it wants to open that. */
const barrierOf = (stateFolder: string): string => join(stateFolder, ".users")

const removeBarrier = (stateFolder: string): Promise<void> =>
  rmdir(barrierOf(stateFolder)).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "ENOENT" && cause.code !== "ENOTDIR") throw cause
  })

/** Whether no process uses the folder as it is, without a pool. */
const isUnused = async (stateFolder: string): Promise<boolean> => {
  const path = barrierOf(stateFolder)
  if (!existsSync(path)) return true
  const users = await FileLock.open(path)
  try {
    return await users.exclusive(0)
  } finally {
    await users.close()
  }
}

const make = async (image: string, stateFolder: string): Promise<void> => {
  const partial = partialOf(image)
  await rm(partial, { force: true })
  try {
    const file = await open(partial, "wx", 0o600)
    await file.truncate(await sizeBeside(image))
    await file.close()
    await mustRun(["mkfs.xfs", "-q", "-K", "-m", "reflink=1,rmapbt=0", "-l", "size=64m", partial])
    for (const name of await readdir(stateFolder)) await rm(join(stateFolder, name), { recursive: true, force: true })
    await mkdir(barrierOf(stateFolder))
    await mount(partial, stateFolder)
  } catch (cause) {
    await removeBarrier(stateFolder)
    await rm(partial, { force: true })
    throw cause
  }
  await publish(image)
}

/** Gives the finished file its name, also for a host that loses power next. */
const publish = async (image: string): Promise<void> => {
  await rename(partialOf(image), image)
  const folder = await open(dirname(image), "r")
  await folder.sync()
  await folder.close()
}

/** As large as its disk. What the disk has free is counted beside it, see `diskRoom.ts`. */
const sizeBeside = async (image: string): Promise<number> => {
  const { blocks, bsize } = await statfs(dirname(image))
  return Math.min(POOL_MAX_BYTES, Math.floor((blocks * bsize) / BLOCK_BYTES) * BLOCK_BYTES)
}

const openExisting = async (image: string, stateFolder: string): Promise<void> => {
  if (process.getuid?.() !== 0)
    throw new Error(`The volumes of this data folder are in ${image}, which only root can mount: start Atoll as root`)
  const size = await sizeBeside(image)
  // The disk was given more room.
  if (size > (await stat(image)).size) await truncate(image, size)
  await mountLive(image, stateFolder)
  await hostCommand(["xfs_growfs", "-d", stateFolder])
}

/** Another mount namespace may still hold the file system that has shut down: for a moment, or for as long as a volume in it is mounted. */
const mountLive = async (image: string, stateFolder: string): Promise<void> => {
  for (let tries = 0; ; tries++) {
    await mount(image, stateFolder)
    if (!hasShutDown(stateFolder)) return
    await mustRun(["umount", "-l", stateFolder])
    if (tries >= LIVE_TRIES)
      throw new Error(
        `The volume pool ${image} cannot be mounted: it has shut down after a fault of its disk, and volumes in it are still mounted. Restart the host`
      )
    await sleep(LIVE_WAIT_MS)
  }
}

const mount = async (image: string, stateFolder: string): Promise<void> => {
  const { code, stderr } = await hostCommand(["mount", "-t", "xfs", "-o", MOUNT_OPTIONS, image, stateFolder])
  if (code !== 0)
    throw new Error(
      `The volume pool ${image} cannot be mounted (${stderr.trim()}): dmesg may say more; a check is xfs_repair -n`
    )
}

/**
 * Unmounts the pool, and removes its file if nothing of value is in it. To be called in the pool's turn, by a process that has closed its own files there.
 * While another process has a file open there, it stays mounted, and the next start finds it.
 */
export const closePool = async (stateFolder: string): Promise<void> => {
  const image = existingPool(stateFolder)
  if (image === null || !isMounted(stateFolder)) return
  const isOver = await isDisposable(stateFolder)
  for (let tries = 0; (await hostCommand(["umount", stateFolder])).code !== 0; tries++) {
    if (tries >= UNMOUNT_TRIES) return
    await sleep(UNMOUNT_WAIT_MS)
  }
  if (isOver) await removePool(image, stateFolder)
}

const removePool = async (image: string, stateFolder: string): Promise<void> => {
  if (isMounted(stateFolder)) return
  await removeBarrier(stateFolder)
  for (const file of [image, partialOf(image)]) await rm(file, { force: true })
}

/** Removes the pool with all that is in it. */
export const purgePool = async (stateFolder: string): Promise<void> => {
  const image = poolImageOf(stateFolder)
  if (!existsSync(image) && !existsSync(partialOf(image))) return
  await inPoolTurn(stateFolder, async () => {
    // Lazy, because a process that looks into the folder must not keep it.
    if (hasShutDown(stateFolder) || isMounted(stateFolder)) await mustRun(["umount", "-l", stateFolder])
    await removePool(image, stateFolder)
  })
}

/** Mounts the pool that exists, also for programs that read volumes without a driver. */
export const openExistingPool = async (stateFolder: string): Promise<void> => {
  if (isPoolClosed(stateFolder)) await inPoolTurn(stateFolder, () => openPool(stateFolder, "off"))
}
