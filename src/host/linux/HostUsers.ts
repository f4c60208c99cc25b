/**
 * One user of the host for each Sandbox, so that Sandboxes, and whatever carries them, are strangers to each other and to everybody else: to those of
 * another Atoll on this host too, whatever its runtime. So there is one register of them for the whole host.
 *
 * A user is taken by making `<folder>/<uid>` as a link to the Sandbox's folder, which only one can do, between processes too.
 */
import { accessSync, constants, existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync } from "node:fs"
import { rename, rm, symlink, unlink } from "node:fs/promises"
import { basename, dirname, join, resolve } from "node:path"
import { sandboxFolder } from "./SandboxRecords.ts"

export interface UserRange {
  readonly first: number
  readonly count: number
}

export class UsersExhausted extends Error {}

/** Where the register is: the first of these that can be made. Volumes keep their user over a reboot, so it should too. */
const REGISTERS = ["/var/lib/atoll-users", "/run/atoll-users"]

/** One that is being taken has no folder yet. */
const SETTLED_MS = 60_000

const register = (): string => {
  let fault: unknown
  for (const folder of REGISTERS) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      accessSync(folder, constants.W_OK)
      return folder
    } catch (cause) {
      fault = cause
    }
  }
  throw fault
}

export const sharedUsers = (sandboxIds: ReadonlyArray<string>): string =>
  `Sandboxes of another Atoll on this host have the users of ${sandboxIds.join(", ")}, too: this one was restored beside its original, or an earlier version gave them. Make these Sandboxes anew to part them.`

export class HostUsers {
  private readonly folder: string
  /** Where this driver's Sandboxes have their folders. */
  private readonly root: string
  /** Null when we are not root: everything runs as our own user. */
  private readonly range: UserRange | null

  /** Those that this process knows its Sandboxes to have. */
  private readonly known = new Map<string, number>()

  /** `folder`: another register than the host's, for tests. */
  constructor(root: string, range: UserRange | null, folder?: string) {
    this.root = resolve(root)
    this.range = range
    this.folder = range === null ? "" : (folder ?? register())
  }

  /** The Sandbox's own: the one that it has, or another. Null: our own user. Rejects with `UsersExhausted` when all are taken. */
  async take(sandboxId: string): Promise<number | null> {
    if (this.range === null) return null
    const { first, count } = this.range
    const known = this.known.get(sandboxId)
    if (known !== undefined && this.isOf(known, sandboxId)) return known
    const taken = new Set(readdirSync(this.folder))
    for (let uid = first; uid < first + count; uid++) {
      if (!taken.has(String(uid)) && (await this.claim(uid, sandboxId))) return uid
    }
    // An Atoll whose data is gone gave nothing back. Only now: what is not there may be a disk that is not mounted.
    for (let uid = first; uid < first + count; uid++) {
      const target = this.targetOf(String(uid))
      if (target === null || existsSync(dirname(target))) continue
      await unlink(this.pathOf(uid)).catch(() => {})
      if (await this.claim(uid, sandboxId)) return uid
    }
    throw new UsersExhausted(`all of the user ids ${first} to ${first + count - 1} are taken`)
  }

  /** From now on it is another's. */
  async pass(uid: number | null, sandboxId: string): Promise<void> {
    if (uid === null) return
    const partial = `${this.pathOf(uid)}.partial`
    await rm(partial, { force: true })
    await symlink(sandboxFolder(this.root, sandboxId), partial)
    await rename(partial, this.pathOf(uid))
    for (const [id, it] of this.known) if (it === uid) this.known.delete(id)
    this.known.set(sandboxId, uid)
  }

  /** `recorded`: null where its own record is gone; then what the register says of it. */
  async release(recorded: number | null, sandboxId: string): Promise<void> {
    const uid = recorded ?? this.known.get(sandboxId) ?? null
    this.known.delete(sandboxId)
    if (uid !== null && this.isOf(uid, sandboxId)) await unlink(this.pathOf(uid)).catch(() => {})
  }

  /**
   * At start: writes down what this driver's Sandboxes have by their own records, and frees what was taken for one that is gone.
   * Returns those whose user is another's: Sandboxes of a version that had no register.
   */
  async settle(
    records: ReadonlyArray<{ readonly sandboxId: string; readonly uid: number | null }>,
    now = Date.now()
  ): Promise<ReadonlyArray<string>> {
    if (this.range === null) return []
    // Where versions before this one had theirs.
    await rm(join(this.root, ".uids"), { recursive: true, force: true })
    for (const name of readdirSync(this.folder).filter((it) => /^\d+$/.test(it))) {
      const target = this.targetOf(name)
      if (target === null || dirname(target) !== this.root) continue
      if (!existsSync(target) && now - this.takenAt(name) > SETTLED_MS)
        await rm(join(this.folder, name), { force: true })
      // Also where there is no folder yet: whoever took it may have been killed just then, and its Sandbox is ours to go on with or to remove.
      else this.known.set(basename(target), Number(name))
    }
    const shared: Array<string> = []
    for (const { sandboxId, uid } of records) {
      if (uid === null || this.isOf(uid, sandboxId) || (await this.claim(uid, sandboxId))) continue
      shared.push(sandboxId)
    }
    return shared
  }

  /** False when it is taken. */
  private async claim(uid: number, sandboxId: string): Promise<boolean> {
    try {
      await symlink(sandboxFolder(this.root, sandboxId), this.pathOf(uid))
      this.known.set(sandboxId, uid)
      return true
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "EEXIST") return false
      throw cause
    }
  }

  private pathOf(uid: number): string {
    return join(this.folder, String(uid))
  }

  private isOf(uid: number, sandboxId: string): boolean {
    return this.targetOf(String(uid)) === sandboxFolder(this.root, sandboxId)
  }

  private takenAt(name: string): number {
    return lstatSync(join(this.folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0
  }

  private targetOf(name: string): string | null {
    try {
      return readlinkSync(join(this.folder, name))
    } catch {
      return null
    }
  }
}
