/**
 * What the driver remembers of one Sandbox across restarts of the service, in `<state>/<sandboxId>/`:
 *
 *     spec.json      {uid, volumeBytes}: written once, before anything is made
 *     runtime.json   the generation that was booted last and its processes; absent when stopped
 *     volume.img     (or volume/ without root)
 *     agent.sock     where its agent listens
 *     life           the life pipe of a boot with a network
 */
import { existsSync, readFileSync } from "node:fs"
import { mkdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { Option, Schema } from "effect"
import { openTo } from "../linux/openTo.ts"
import { isAlive, mayBeAlive } from "../linux/ProcessIdentity.ts"
import { readRecord, sandboxFolder, WrittenProcess, writeRecord } from "../linux/SandboxRecords.ts"

const Spec = Schema.Struct({
  /** The Sandbox's own user on this host; null when the service is not root and has only its own. */
  uid: Schema.NullOr(Schema.Int),
  volumeBytes: Schema.Int
})
export type SandboxRecord = typeof Spec.Type

const Runtime = Schema.Struct({
  generation: Schema.Int,
  networkEnabled: Schema.Boolean,
  /** bwrap outside, which waits for the Sandbox. */
  monitor: WrittenProcess,
  /** bwrap as PID 1 inside; null until the agent has answered once. */
  init: Schema.NullOr(WrittenProcess),
  /** The agent: it ends when init does, and without it nobody can reach what is left. */
  agent: Schema.NullOr(WrittenProcess),
  /** slirp4netns, when there is a network. An earlier version did not write it down. */
  network: Schema.optionalKey(Schema.NullOr(WrittenProcess))
})
export type RuntimeRecord = typeof Runtime.Type

const decodeSpec = Schema.decodeUnknownOption(Spec)
const decodeRuntime = Schema.decodeUnknownOption(Runtime)

export class SandboxState {
  readonly folder: string
  readonly sandboxId: string

  /** Throws on an id that is no plain file name. */
  constructor(root: string, sandboxId: string) {
    this.sandboxId = sandboxId
    this.folder = sandboxFolder(root, sandboxId)
  }

  get socket(): string {
    return join(this.folder, "agent.sock")
  }

  /** Where bwrap writes its child's pid, and in the end its exit code. */
  get status(): string {
    return join(this.folder, "status.json")
  }

  /** The life pipe of its boot: slirp4netns ends with the Sandbox by it. No Sandbox sees this folder. */
  get life(): string {
    return join(this.folder, "life")
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
    if (before?.uid === spec.uid && before.volumeBytes === spec.volumeBytes) return
    await writeRecord(join(this.folder, "spec.json"), spec, { durable: true })
  }

  async writeRuntime(runtime: RuntimeRecord): Promise<void> {
    // Nothing of it holds after the host went down, so it need not survive that.
    await writeRecord(join(this.folder, "runtime.json"), runtime, { durable: false })
  }

  async forgetRuntime(): Promise<void> {
    for (const path of ["runtime.json", "agent.sock", "status.json", "life"])
      await rm(join(this.folder, path), { force: true })
  }

  /** What bwrap said so far. */
  readStatus(): { readonly childPid: number | null; readonly exitCode: number | null } {
    const text = existsSync(this.status) ? readFileSync(this.status, "utf8") : ""
    const number = (name: string) => {
      const found = new RegExp(`"${name}":\\s*(\\d+)`).exec(text)
      return found === null ? null : Number(found[1])
    }
    return { childPid: number("child-pid"), exitCode: number("exit-code") }
  }
}

/** The generation is up: it has answered, and the agent is still the one that did. One look at /proc. */
export const isUp = ({ agent }: RuntimeRecord): boolean => agent !== null && isAlive(agent)

/** The same by one system call, which a zombie or a reused pid deceives. */
export const mayBeUp = ({ agent }: RuntimeRecord): boolean => agent !== null && mayBeAlive(agent)

/** It was begun, and whether it came up is not written down. */
export const hasNotAnswered = ({ init }: RuntimeRecord): boolean => init === null

/** Its way out of its network namespace has ended: it reaches nothing until it has another. */
export const hasLostNetwork = ({ network }: RuntimeRecord): boolean =>
  network !== undefined && network !== null && !isAlive(network)
