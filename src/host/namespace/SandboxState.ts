/**
 * The driver's records of one Sandbox, which survive restarts of the service, in `<state>/<sandboxId>/`:
 *
 *     spec.json      {uid, volumeBytes, name, filesOf, sharedBytes, image, builder, restoredAfter}: written before anything is made
 *     runtime.json   the generation that was booted last and its processes; absent when stopped
 *     volume.img     (or volume/ without root)
 *     agent.sock     where its agent listens
 *     console/       the console of a Sandbox that was started ahead: see ownConsole.ts
 *     console.json   see ConsoleCut.ts
 *     life           the life pipe of a boot with a network
 */
import { existsSync, readFileSync } from "node:fs"
import { mkdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { Option, Schema } from "effect"
import { openTo } from "../linux/openTo.ts"
import { isAlive } from "../linux/ProcessIdentity.ts"
import { readRecord, sandboxFolder, WrittenProcess, writeRecord } from "../linux/SandboxRecords.ts"

const Spec = Schema.Struct({
  /** The Sandbox's user id on this host; null when the service is not root, and the Sandbox has the service's user. */
  uid: Schema.NullOr(Schema.Int),
  volumeBytes: Schema.Int,
  /**
   * The name of its mount point, its cgroups and its processes' marks, which cannot change while it runs: it was started ahead under this name
   * (`SpareSandboxes`). Absent: its own id.
   */
  name: Schema.optionalKey(Schema.String),
  /** The user of its volume's files on the disk, where the volume is a copy of another Sandbox's (`giveFiles`). Absent: `uid`. */
  filesOf: Schema.optionalKey(Schema.Int),
  /** The volume began with this many bytes that it shares with a snapshot, and may come to need for itself. Absent: 0. */
  sharedBytes: Schema.optionalKey(Schema.Int),
  /** The digest of the image that is its root. Absent: the host's own root. */
  image: Schema.optionalKey(Schema.String),
  /** Dockerfiles are built in it. Absent: it is an ordinary Sandbox. */
  builder: Schema.optionalKey(Schema.Literal(true)),
  /** The generation after whose end the volume was last replaced by a snapshot's. Absent: never. */
  restoredAfter: Schema.optionalKey(Schema.Int)
})
export type SandboxRecord = typeof Spec.Type

const Runtime = Schema.Struct({
  generation: Schema.Int,
  networkEnabled: Schema.Boolean,
  /** The outer bwrap, which waits for the Sandbox. */
  monitor: WrittenProcess,
  /** The inner bwrap, PID 1 of the Sandbox; null until the agent has answered once. */
  init: Schema.NullOr(WrittenProcess),
  /** The agent. It ends with init. Without it, the remaining processes cannot be reached. */
  agent: Schema.NullOr(WrittenProcess),
  /** slirp4netns of a Sandbox with network. An earlier version did not record it. */
  network: Schema.optionalKey(Schema.NullOr(WrittenProcess)),
  /** Its console is not on the volume: see ownConsole.ts. */
  ownConsole: Schema.optionalKey(Schema.Boolean)
})
export type RuntimeRecord = typeof Runtime.Type

const decodeSpec = Schema.decodeUnknownOption(Spec)
const decodeRuntime = Schema.decodeUnknownOption(Runtime)

export class SandboxState {
  readonly folder: string
  readonly sandboxId: string

  /** Throws when the id is not a plain file name. */
  constructor(root: string, sandboxId: string) {
    this.sandboxId = sandboxId
    this.folder = sandboxFolder(root, sandboxId)
  }

  get socket(): string {
    return join(this.folder, "agent.sock")
  }

  /** The file to which bwrap writes its child's pid and, at the end, its exit code. */
  get status(): string {
    return join(this.folder, "status.json")
  }

  /** The life pipe of the boot, by which slirp4netns ends with the Sandbox. No Sandbox sees this folder. */
  get life(): string {
    return join(this.folder, "life")
  }

  /** The pipe on which a launcher waits. It has this name for a moment only. */
  get gate(): string {
    return join(this.folder, "gate")
  }

  spec(): SandboxRecord | null {
    return Option.getOrNull(decodeSpec(readRecord(join(this.folder, "spec.json"))))
  }

  runtime(): RuntimeRecord | null {
    return Option.getOrNull(decodeRuntime(readRecord(join(this.folder, "runtime.json"))))
  }

  async writeSpec(spec: SandboxRecord): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    // A volume that is a plain folder must be reachable by the Sandbox's user.
    await openTo(this.folder, spec.uid)
    const before = this.spec()
    if (before !== null && isDeepStrictEqual(before, spec)) return
    await writeRecord(join(this.folder, "spec.json"), spec, { durable: true })
  }

  async writeRuntime(runtime: RuntimeRecord): Promise<void> {
    // The record describes nothing after a crash of the host, so it need not survive that.
    await writeRecord(join(this.folder, "runtime.json"), runtime, { durable: false })
  }

  async forgetRuntime(): Promise<void> {
    for (const path of ["runtime.json", "agent.sock", "status.json", "life", "gate"])
      await rm(join(this.folder, path), { force: true })
  }

  /** Reads what bwrap has reported so far. */
  readStatus(): { readonly childPid: number | null; readonly exitCode: number | null } {
    const text = existsSync(this.status) ? readFileSync(this.status, "utf8") : ""
    const number = (name: string) => {
      const found = new RegExp(`"${name}":\\s*(\\d+)`).exec(text)
      return found === null ? null : Number(found[1])
    }
    return { childPid: number("child-pid"), exitCode: number("exit-code") }
  }
}

/** Whether the generation is up: its agent has answered once and is still alive. Reads /proc once. */
export const isUp = ({ agent }: RuntimeRecord): boolean => agent !== null && isAlive(agent)

/** The pids of a generation's processes, as far as they are recorded. */
export const recordedPids = ({ monitor, init, agent, network }: RuntimeRecord): ReadonlyArray<number> =>
  [monitor, init, agent, network].flatMap((it) => (it === null || it === undefined ? [] : [it.pid]))

/** The boot has begun, and no record says that it completed. */
export const hasNotAnswered = ({ init }: RuntimeRecord): boolean => init === null

/** Its slirp4netns has ended: the Sandbox has no network until another is started. */
export const hasLostNetwork = ({ network }: RuntimeRecord): boolean =>
  network !== undefined && network !== null && !isAlive(network)
