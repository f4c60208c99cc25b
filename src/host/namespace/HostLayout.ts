/**
 * The driver's files and folders on this host.
 *
 *     <data>/runtime/namespace/<sandboxId>/   see SandboxState.ts
 *     <data>/runtime/namespace/.trash/        see Trash.ts
 *     <data>/runtime/.namespace.xfs           the file system over <data>/runtime/namespace; see volumePool.ts
 *     <data>/runtime/namespace/.users         locked by every process that uses these folders
 *     <data>/runtime/namespace/.etc           locked by the process that writes the /etc of Sandboxes
 *     <data>/runtime/namespace/.blank/        see BlankVolumes.ts
 *     <data>/runtime/namespace/.snapshots/    see SnapshotStore.ts
 *     <data>/runtime/namespace/.images/       see ImageStore.ts
 *     <data>/runtime/namespace/spare.<random>/  the same of a Sandbox that was started ahead
 *     /run/atoll-<digest>/                    as root: mount points of volumes
 *     /run/atoll-<digest>/images/<hex>        mount points of images
 *     /run/atoll-<digest>/shared/             what is bound into Sandboxes, reachable by their users; see sharedMount.ts
 *     <data>/runtime/namespace/.run/          the same without root
 *     /var/cache/atoll/.node-<version>        as root: see `sealedNode` and oldPrograms.ts
 *     /var/cache/atoll/programs-<digest>      as root: see ownPrograms.ts and oldPrograms.ts
 *     <cgroup hierarchy>/atoll-<digest>/<sandboxId>
 */
import { createHash, randomUUID } from "node:crypto"
import { accessSync, chmodSync, constants, existsSync, mkdirSync, readFileSync, realpathSync, statSync } from "node:fs"
import { copyFile, readdir, rename, rm, rmdir, unlink } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { FileLock } from "../../platform/fileLock/FileLock.ts"
import { agentBundle } from "../../runtime/agentClient/agentBundle.ts"
import type { SandboxSpec } from "../../runtime/Runtime.ts"
import type { View } from "../linux/limitViews.ts"
import { isSpareName, sandboxIdsIn, spareNamesIn } from "../linux/SandboxRecords.ts"
import { VolumeRegister } from "../linux/VolumeRegister.ts"
import {
  closePool,
  inPoolTurn,
  openExistingPool,
  openPool,
  type PoolChoice,
  pooledFolder
} from "../linux/volumePool.ts"
import { markOf } from "./markedProcesses.ts"
import { maskViews, writeMasks } from "./maskedProc.ts"
import { noteProgramsUse, removeOldPrograms } from "./oldPrograms.ts"
import { ownPrograms } from "./ownPrograms.ts"
import { publicConfiguration } from "./publicConfiguration.ts"
import { SandboxState } from "./SandboxState.ts"
import { mountShared, unmountShared } from "./sharedMount.ts"
import { writeSystemFiles } from "./systemFiles.ts"
import type { VolumePlace } from "./volume.ts"
import { canMountImages } from "./volumeTrial.ts"

/** @see src/host/linux/native/spawner.c */
const SPAWNER = fileURLToPath(new URL("../linux/native/spawner.x64", import.meta.url))
const SHARED_FOLDER = "/var/cache/atoll"
/** Removing the shared files takes milliseconds. */
const LOCK_WAIT_SECONDS = 30

export class HostLayout {
  readonly isRoot = process.getuid?.() === 0
  /** Distinguishes this driver's processes, mounts and cgroups from those of another service on this host. */
  readonly instance: string
  readonly stateFolder: string
  readonly runFolder: string
  readonly volumes: VolumeRegister
  private readonly shared: string
  /** By Sandbox id: a name never changes while the Sandbox exists. */
  private readonly names = new Map<string, string>()
  /** The agent's program and the Node that runs it, where the users of Sandboxes can read them. */
  agent = ""
  node = ""
  /** The program that starts commands in Sandboxes; null where none exists for this processor. */
  spawner: string | null = null
  /** The folder that is being looked for or made. */
  private programs: Promise<string> | null = null
  /** The write of the Sandboxes' /etc; null before it, and after a failure. */
  private writing: Promise<void> | null = null
  /** A lock that every process that uses these folders holds in shared mode. */
  private users: FileLock | null = null
  /** True when volumes are images, whose size is enforced; false when they are plain folders. */
  volumesEnforced = false
  /** The file of the volume pool that is mounted over `stateFolder`; null without one. */
  pool: string | null = null
  /** Why the pool that was wanted could not be made. */
  poolFault: string | null = null

  private constructor(dataDir: string) {
    const folder = pooledFolder(dataDir)
    mkdirSync(folder, { recursive: true })
    this.stateFolder = realpathSync(folder)
    this.volumes = new VolumeRegister(this.stateFolder)
    this.instance = `atoll-${createHash("sha256").update(this.stateFolder).digest("hex").slice(0, 12)}`
    this.runFolder = this.isRoot ? join("/run", this.instance) : join(this.stateFolder, ".run")
    this.shared = join(this.runFolder, "shared")
  }

  /** Computes the paths, and creates nothing. */
  static at(dataDir: string): HostLayout {
    return new HostLayout(dataDir)
  }

  /** Creates the files that all Sandboxes share. */
  static async prepare(dataDir: string, poolChoice: PoolChoice = "off"): Promise<HostLayout> {
    await openExistingPool(pooledFolder(dataDir))
    const layout = new HostLayout(dataDir)
    await inPoolTurn(layout.stateFolder, () => layout.enter(poolChoice))
    mkdirSync(layout.runFolder, { recursive: true })
    // The users of Sandboxes may only pass through these folders. By chmod, because the umask reduces the mode of mkdir.
    for (const folder of [layout.stateFolder, layout.runFolder]) chmodSync(folder, layout.isRoot ? 0o711 : 0o700)
    layout.volumesEnforced = layout.isRoot && (await canMountImages(layout.runFolder))
    await layout.prepareShared()
    layout.agent = await agentBundle(layout.shared)
    layout.node = await layout.sealedNode()
    layout.spawner = await layout.sealedSpawner()
    // A failure is reported to the callers of `systemFiles()`.
    layout.systemFiles().catch(() => {})
    return layout
  }

  /** Until the shared lock is held, no other process may mount a pool over this folder, or unmount it. */
  private async enter(poolChoice: PoolChoice): Promise<void> {
    this.pool = await openPool(this.stateFolder, poolChoice, (why) => {
      this.poolFault = why
    })
    this.users = await FileLock.open(join(this.stateFolder, ".users"))
    if (!(await this.users.shared(LOCK_WAIT_SECONDS)))
      throw new Error(`${this.runFolder} is being removed by another Atoll`)
  }

  /** Resolves once the /etc of Sandboxes is written. Reading the host's /etc takes a while, so the service does not wait for it at start. */
  systemFiles(): Promise<void> {
    this.writing ??= this.writeSystemFiles().catch((fault: unknown) => {
      this.writing = null
      throw fault
    })
    return this.writing
  }

  private async writeSystemFiles(): Promise<void> {
    const shared = await publicConfiguration()
    await this.inTurn(async () => {
      for (const networkEnabled of [true, false])
        await writeSystemFiles(this.etc(networkEnabled), networkEnabled, shared)
    })
  }

  private prepareShared(): Promise<void> {
    return this.inTurn(async () => {
      mkdirSync(this.shared, { recursive: true })
      if (this.volumesEnforced) await mountShared(this.shared)
      chmodSync(this.shared, this.isRoot ? 0o711 : 0o700)
      await writeMasks(join(this.shared, "proc"))
    })
  }

  /** Runs `write` in one process at a time, because the processes share these folders. */
  private async inTurn(write: () => Promise<void>): Promise<void> {
    const turn = await FileLock.open(join(this.stateFolder, ".etc"))
    try {
      if (!(await turn.exclusive(LOCK_WAIT_SECONDS)))
        throw new Error(`${this.runFolder} is being written by another Atoll`)
      await write()
    } finally {
      await turn.close()
    }
  }

  /**
   * Ends this process's use of the shared files. If no other process uses them and `isOver` finds no Sandbox, removes them and runs `also`; the lock
   * keeps another process from starting meanwhile.
   * Removes only the driver's own files: a folder with other content, a volume above all, stays. `runs`: a Sandbox still runs, and its /etc must stay
   * up to date.
   */
  async release(isOver: () => boolean, runs: boolean, also: () => Promise<void> = async () => {}): Promise<void> {
    // No write may be under way when another process removes the files.
    await this.writing?.catch(() => {})
    const leave = async () => {
      if (await this.leave(isOver, runs, also)) await closePool(this.stateFolder)
    }
    await (runs || !existsSync(this.stateFolder) ? leave() : inPoolTurn(this.stateFolder, leave))
  }

  /** Whether the shared files were removed. */
  private async leave(isOver: () => boolean, runs: boolean, also: () => Promise<void>): Promise<boolean> {
    try {
      if (runs || !(await this.users?.exclusive(0))) return false
      await unmountShared(this.shared)
      if (!isOver()) return false
      await this.remove()
      await also()
      return true
    } finally {
      await this.users?.close()
      this.users = null
    }
  }

  private async remove(): Promise<void> {
    // For a host that could not mount it.
    await rm(this.shared, { recursive: true, force: true })
    // From an earlier version.
    for (const name of ["etc-online", "etc-offline"])
      await rm(join(this.runFolder, name), { recursive: true, force: true })
    for (const entry of await readdir(this.runFolder, { withFileTypes: true })) {
      const path = join(this.runFolder, entry.name)
      await (entry.isDirectory() ? rmdir(path) : unlink(path)).catch(() => {})
    }
    await rmdir(this.runFolder).catch(() => {})
  }

  sandboxIds(): ReadonlyArray<string> {
    return sandboxIdsIn(this.stateFolder)
  }

  /** Sandboxes that are started ahead, by this process or another one. */
  spareNames(): ReadonlyArray<string> {
    return spareNamesIn(this.stateFolder)
  }

  /** The name of a Sandbox's mount point, cgroups and marks. See `SandboxRecord`. */
  nameOf(sandboxId: string): string {
    const known = this.names.get(sandboxId)
    if (known !== undefined) return known
    const spec = this.state(sandboxId).spec()
    // Without a record it has none of them yet, and may still get a spare's.
    if (spec === null) return sandboxId
    const name = isSpareName(spec.name) ? spec.name : sandboxId
    this.names.set(sandboxId, name)
    return name
  }

  forgetName(sandboxId: string): void {
    this.names.delete(sandboxId)
  }

  state(sandboxId: string): SandboxState {
    return new SandboxState(this.stateFolder, sandboxId)
  }

  /** A Sandbox keeps the kind of volume that it started with. */
  volume(state: SandboxState): VolumePlace {
    const image = join(state.folder, "volume.img")
    const folder = join(state.folder, "volume")
    return existsSync(image) || (this.volumesEnforced && !existsSync(folder))
      ? { image, folder: join(this.runFolder, this.nameOf(state.sandboxId)) }
      : { image: null, folder }
  }

  /** On the volume, beside the workspace: the console counts toward the Sandbox's own disk. */
  console(state: SandboxState, generation: number): string {
    return join(this.volume(state).folder, `console-${generation}`)
  }

  /** Exists once `systemFiles()` has resolved. */
  etc(networkEnabled: boolean): string {
    return join(this.shared, networkEnabled ? "etc-online" : "etc-offline")
  }

  /** The mounts that hide parts of /proc from a Sandbox. */
  masks(): ReadonlyArray<View> {
    return maskViews(join(this.shared, "proc"))
  }

  /** See `MARKER`. */
  marker({ sandboxId, generation }: Pick<SandboxSpec, "sandboxId" | "generation">): string {
    return markOf(this.instance, this.nameOf(sandboxId), generation)
  }

  /**
   * A copy of this Node that users may execute but not read. The kernel protects the memory of such a program: commands run as the agent's user, and
   * could otherwise write the agent's memory through `/proc/PID/mem`. As root there is one copy per host and version of Node.
   *
   * @source Linux fs/exec.c would_dump
   */
  private async sealedNode(): Promise<string> {
    const copy = join(this.programsFolder(), `.node-${process.version}`)
    await noteProgramsUse(copy)
    return sealedCopy(realpathSync(process.execPath), copy)
  }

  private programsFolder(): string {
    return this.isRoot ? sharedFolder(this.runFolder) : this.stateFolder
  }

  /** What the agent needs beside the root of an image. Made at the first boot from one; each boot asks for it. */
  ownPrograms(): Promise<string> {
    this.programs ??= ownPrograms(this.programsFolder()).finally(() => {
      this.programs = null
    })
    return this.programs
  }

  /** Also notes that this process's own Node is in use, so that no other Atoll removes it. */
  async removeOldPrograms(): Promise<void> {
    await removeOldPrograms(this.programsFolder(), basename(await this.sealedNode()))
  }

  /** Named by the hash of its content, so that running Sandboxes keep the copy they started with. */
  private async sealedSpawner(): Promise<string | null> {
    if (process.arch !== "x64") return null
    const digest = createHash("sha256").update(readFileSync(SPAWNER)).digest("hex").slice(0, 16)
    return sealedCopy(SPAWNER, join(this.shared, `spawner-${digest}`))
  }
}

const sealedCopy = async (program: string, copy: string): Promise<string> => {
  if (!existsSync(copy)) {
    const unfinished = `${copy}-${randomUUID()}`
    await copyFile(program, unfinished)
    chmodSync(unfinished, 0o111)
    await rename(unfinished, copy)
  }
  return copy
}

/** A folder that all Atolls of this host share and that the users of Sandboxes can reach. Returns `otherwise` where it cannot be created. */
const sharedFolder = (otherwise: string): string => {
  try {
    mkdirSync(SHARED_FOLDER, { recursive: true, mode: 0o755 })
    accessSync(SHARED_FOLDER, constants.W_OK)
    return isOpenToAll(SHARED_FOLDER) ? SHARED_FOLDER : otherwise
  } catch {
    return otherwise
  }
}

const isOpenToAll = (path: string): boolean =>
  (statSync(path).mode & 0o001) !== 0 && (path === "/" || isOpenToAll(dirname(path)))
