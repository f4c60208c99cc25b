/**
 * Where the driver keeps what on this host.
 *
 *     <data>/runtime/namespace/<sandboxId>/   see SandboxState.ts
 *     <data>/runtime/namespace/.uids/         see UserIds.ts
 *     /run/atoll-<digest>/                    as root: mount points of volumes, and what is bound into Sandboxes, reachable by their users
 *     <data>/runtime/namespace/.run/          the same without root
 *     <cgroup hierarchy>/atoll-<digest>/<sandboxId>
 */
import { createHash } from "node:crypto"
import { chmodSync, existsSync, mkdirSync, realpathSync, statSync } from "node:fs"
import { copyFile, rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { agentBundle } from "../../runtime/agentClient/agentBundle.ts"
import type { SandboxSpec } from "../../runtime/Runtime.ts"
import { sandboxIdsIn } from "../linux/SandboxRecords.ts"
import { markOf } from "./markedProcesses.ts"
import { publicConfiguration } from "./publicConfiguration.ts"
import { SandboxState } from "./SandboxState.ts"
import { writeSystemFiles } from "./systemFiles.ts"
import { canMountImages, type VolumePlace } from "./volume.ts"

export class HostLayout {
  readonly isRoot = process.getuid?.() === 0
  /** Tells this driver's processes, mounts and cgroups from those of another service on this host. */
  readonly instance: string
  readonly stateFolder: string
  readonly runFolder: string
  /** The agent's program and the Node that runs it, where the users of Sandboxes can read them. */
  agent = ""
  node = ""
  /** Volumes are images of their own size; else plain folders. */
  volumesEnforced = false

  private constructor(dataDir: string) {
    const folder = join(dataDir, "runtime", "namespace")
    mkdirSync(folder, { recursive: true })
    this.stateFolder = realpathSync(folder)
    this.instance = `atoll-${createHash("sha256").update(this.stateFolder).digest("hex").slice(0, 12)}`
    this.runFolder = this.isRoot ? join("/run", this.instance) : join(this.stateFolder, ".run")
  }

  /** Makes what all Sandboxes share. */
  static async prepare(dataDir: string): Promise<HostLayout> {
    const layout = new HostLayout(dataDir)
    mkdirSync(layout.runFolder, { recursive: true })
    // Not by mkdir, whose mode the umask cuts.
    chmodSync(layout.runFolder, 0o711)
    layout.volumesEnforced = layout.isRoot && (await canMountImages(layout.runFolder))
    layout.agent = await agentBundle(layout.runFolder)
    layout.node = await layout.reachableNode()
    const shared = await publicConfiguration()
    for (const networkEnabled of [true, false])
      await writeSystemFiles(layout.etc(networkEnabled), networkEnabled, shared)
    return layout
  }

  /** Removes what all Sandboxes share. */
  async remove(): Promise<void> {
    await rm(this.runFolder, { recursive: true, force: true })
  }

  sandboxIds(): ReadonlyArray<string> {
    return sandboxIdsIn(this.stateFolder)
  }

  state(sandboxId: string): SandboxState {
    return new SandboxState(this.stateFolder, sandboxId)
  }

  /** A Sandbox keeps the kind of volume that it began with. */
  volume(state: SandboxState): VolumePlace {
    const image = join(state.folder, "volume.img")
    const folder = join(state.folder, "volume")
    return existsSync(image) || (this.volumesEnforced && !existsSync(folder))
      ? { image, folder: join(this.runFolder, state.sandboxId) }
      : { image: null, folder }
  }

  /** On the volume, beside the workspace: what a Sandbox writes there counts against its own disk. */
  console(state: SandboxState, generation: number): string {
    return join(this.volume(state).folder, `console-${generation}`)
  }

  etc(networkEnabled: boolean): string {
    return join(this.runFolder, networkEnabled ? "etc-online" : "etc-offline")
  }

  /** See `MARKER`. */
  marker({ sandboxId, generation }: SandboxSpec): string {
    return markOf(this.instance, sandboxId, generation)
  }

  /** This Node, or a copy of it where the users of Sandboxes can reach it. */
  private async reachableNode(): Promise<string> {
    const node = realpathSync(process.execPath)
    if (!this.isRoot || isOpenToAll(node)) return node
    const copy = join(this.runFolder, `node-${process.version}`)
    if (!existsSync(copy)) {
      await copyFile(node, `${copy}.new`)
      chmodSync(`${copy}.new`, 0o755)
      await rename(`${copy}.new`, copy)
    }
    return copy
  }
}

const isOpenToAll = (path: string): boolean =>
  (statSync(path).mode & 0o001) !== 0 && (path === "/" || isOpenToAll(dirname(path)))
