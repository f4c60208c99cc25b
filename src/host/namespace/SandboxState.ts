/**
 * What the driver remembers of one Sandbox across restarts of the service, in `<state>/<sandboxId>/`:
 *
 *     spec.json      {uid, volumeBytes}: written once, before anything is made
 *     runtime.json   the generation that was booted last and its processes; absent when stopped
 *     volume.img     (or volume/ without root)
 *     agent.sock     where its agent listens
 */
import { randomUUID } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { mkdir, open, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { Option, Schema } from "effect"
import { isAlive, mayBeAlive, sameBoot } from "./processIdentity.ts"

const Identity = Schema.Struct({ pid: Schema.Int, startTime: Schema.String, bootId: Schema.String })

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
  monitor: Identity,
  /** bwrap as PID 1 inside; null until the agent has answered once. */
  init: Schema.NullOr(Identity),
  /** The agent: it ends when init does, and without it nobody can reach what is left. */
  agent: Schema.NullOr(Identity)
})
export type RuntimeRecord = typeof Runtime.Type

const SANDBOX_ID = /^[A-Za-z0-9_-]{1,64}$/

const decodeSpec = Schema.decodeUnknownOption(Spec)
const decodeRuntime = Schema.decodeUnknownOption(Runtime)

export class SandboxState {
  readonly folder: string
  readonly sandboxId: string

  /** Throws on an id that is no plain file name. */
  constructor(root: string, sandboxId: string) {
    if (!SANDBOX_ID.test(sandboxId)) throw new Error("a sandboxId is 1 to 64 letters, digits, - or _")
    this.sandboxId = sandboxId
    this.folder = join(root, sandboxId)
  }

  /** Every Sandbox of which there is a folder. */
  static list(root: string): ReadonlyArray<string> {
    if (!existsSync(root)) return []
    return readdirSync(root, { withFileTypes: true })
      .filter((it) => it.isDirectory() && SANDBOX_ID.test(it.name))
      .map((it) => it.name)
  }

  get socket(): string {
    return join(this.folder, "agent.sock")
  }

  /** Where bwrap writes its child's pid, and in the end its exit code. */
  get status(): string {
    return join(this.folder, "status.json")
  }

  spec(): SandboxRecord | null {
    return Option.getOrNull(decodeSpec(readJson(join(this.folder, "spec.json"))))
  }

  runtime(): RuntimeRecord | null {
    return Option.getOrNull(decodeRuntime(readJson(join(this.folder, "runtime.json"))))
  }

  async writeSpec(spec: SandboxRecord): Promise<void> {
    // A volume that is a plain folder must be reachable by the Sandbox's user; the files here are not.
    await mkdir(this.folder, { recursive: true, mode: 0o711 })
    const before = this.spec()
    if (before?.uid === spec.uid && before.volumeBytes === spec.volumeBytes) return
    await writeAtomically(join(this.folder, "spec.json"), spec, true)
  }

  async writeRuntime(runtime: RuntimeRecord): Promise<void> {
    // Nothing of it holds after the host went down, so it need not survive that.
    await writeAtomically(join(this.folder, "runtime.json"), runtime, false)
  }

  async forgetRuntime(): Promise<void> {
    for (const path of ["runtime.json", "agent.sock", "status.json"]) await rm(join(this.folder, path), { force: true })
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
export const isUp = ({ agent }: RuntimeRecord): boolean => agent !== null && sameBoot(agent) && isAlive(agent)

/** The same by one system call, which a zombie or a reused pid deceives. */
export const mayBeUp = ({ agent }: RuntimeRecord): boolean => agent !== null && mayBeAlive(agent)

const readJson = (path: string): unknown => {
  try {
    return JSON.parse(readFileSync(path, "utf8"))
  } catch {
    return null
  }
}

/** A reader sees the old content or the new, after a crash of the service too, and of the host when `durable`. */
const writeAtomically = async (path: string, value: unknown, durable: boolean): Promise<void> => {
  const temporary = `${path}.${randomUUID()}`
  const file = await open(temporary, "w", 0o600)
  try {
    await file.writeFile(JSON.stringify(value))
    if (durable) await file.datasync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
}
