/**
 * Gives each Sandbox its own host user id. Sandboxes, and the processes that run them, therefore have no access to each other, to the rest of
 * the host, or to Sandboxes of another Atoll on it. One register serves the whole host, for every runtime.
 *
 * To claim a uid, a process creates the symbolic link `<folder>/<uid>` to the Sandbox's folder. Only one process can succeed.
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

/**
 * Candidate folders for the register: the first that can be created is used. Volumes keep their owner over a reboot, so the register should survive
 * one too.
 */
const REGISTERS = ["/var/lib/atoll-users", "/run/atoll-users"]

/** A claim younger than this may belong to a Sandbox whose folder is not created yet. */
const SETTLED_MS = 60_000

/** The names of claims; a user id that is being passed on has another name for a moment. */
const UID = /^\d+$/

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
  `Sandboxes of another Atoll on this host have the users of ${sandboxIds.join(", ")}, too: this one was restored beside its original, or an earlier version assigned them. Delete and create these Sandboxes again to separate them.`

export class HostUsers {
  private readonly folder: string
  /** The folder that holds this driver's Sandbox folders. */
  private readonly root: string
  /** Null when this process is not root: everything runs as the service's user. */
  private readonly range: UserRange | null

  /** The user ids that this process claimed for its Sandboxes, by Sandbox id. */
  private readonly known = new Map<string, number>()

  /** `folder` replaces the host's register in tests. */
  constructor(root: string, range: UserRange | null, folder?: string) {
    this.root = resolve(root)
    this.range = range
    this.folder = range === null ? "" : (folder ?? register())
  }

  /**
   * The Sandbox's user id: the one that it already has, or a newly claimed one. Null means the service's user. Rejects with `UsersExhausted` when all
   * are taken.
   */
  async take(sandboxId: string): Promise<number | null> {
    if (this.range === null) return null
    const { first, count } = this.range
    const known = this.known.get(sandboxId)
    if (known !== undefined && this.isOf(known, sandboxId)) return known
    const taken = new Set(readdirSync(this.folder))
    for (let uid = first; uid < first + count; uid++) {
      if (!taken.has(String(uid)) && (await this.claim(uid, sandboxId))) return uid
    }
    // Reclaims user ids of an Atoll whose data folder is gone; it never released them. This is the last resort, because a missing folder may be on a
    // disk that is not mounted.
    for (let uid = first; uid < first + count; uid++) {
      const target = this.targetOf(String(uid))
      if (target === null || existsSync(dirname(target))) continue
      await this.free(String(uid))
      if (await this.claim(uid, sandboxId)) return uid
    }
    throw new UsersExhausted(`all of the user ids ${first} to ${first + count - 1} are taken`)
  }

  /** Transfers the user id to this Sandbox. */
  async pass(uid: number | null, sandboxId: string): Promise<void> {
    if (uid === null) return
    const partial = `${this.pathOf(uid)}.partial`
    await rm(partial, { force: true })
    await symlink(sandboxFolder(this.root, sandboxId), partial)
    await rename(partial, this.pathOf(uid))
    const earlier = this.known.get(sandboxId)
    for (const [id, it] of this.known) if (it === uid) this.known.delete(id)
    this.known.set(sandboxId, uid)
    // Of a start that was killed after its user had been claimed.
    if (earlier !== undefined && earlier !== uid && this.isOf(earlier, sandboxId)) await this.free(String(earlier))
  }

  /** Frees the Sandbox's user id. `recorded` is null where the Sandbox's record is gone; the register then names the user id. */
  async release(recorded: number | null, sandboxId: string): Promise<void> {
    const uid = recorded ?? this.known.get(sandboxId) ?? null
    this.known.delete(sandboxId)
    if (uid !== null && this.isOf(uid, sandboxId)) await this.free(String(uid))
  }

  /** The user ids that are registered for this driver's Sandboxes now, by any process, by Sandbox id. */
  registered(): ReadonlyMap<string, number> {
    const names = this.range === null ? [] : readdirSync(this.folder).filter((it) => UID.test(it))
    return new Map(
      names.flatMap((name) => {
        const target = this.targetOf(name)
        return target === null || dirname(target) !== this.root ? [] : [[basename(target), Number(name)]]
      })
    )
  }

  /**
   * Runs at start. Registers the user ids in the records of this driver's Sandboxes, and frees those of Sandboxes that are gone. Returns the
   * Sandboxes whose user id is registered for another Sandbox: a version without a register started them.
   */
  async settle(
    records: ReadonlyArray<{ readonly sandboxId: string; readonly uid: number | null }>,
    now = Date.now()
  ): Promise<ReadonlyArray<string>> {
    if (this.range === null) return []
    // Earlier versions kept their register there.
    await rm(join(this.root, ".uids"), { recursive: true, force: true })
    const owned = new Map(records.map(({ sandboxId, uid }) => [sandboxId, uid]))
    for (const name of readdirSync(this.folder)) {
      const target = this.targetOf(name)
      if (target === null || dirname(target) !== this.root) continue
      const isSettled = now - this.takenAt(name) > SETTLED_MS
      const own = owned.get(basename(target)) ?? null
      // A user id that was being passed on when its process was killed, or a second one of the same Sandbox.
      if (!UID.test(name) || (own !== null && own !== Number(name))) {
        if (isSettled) await this.free(name)
      } else if (!existsSync(target) && isSettled) await this.free(name)
      // Includes claims without a folder: the process that made the claim may have been killed before it created the folder. This driver will then
      // create or delete that Sandbox.
      else this.known.set(basename(target), Number(name))
    }
    const shared: Array<string> = []
    for (const { sandboxId, uid } of records) {
      if (uid === null || this.isOf(uid, sandboxId) || (await this.claim(uid, sandboxId))) continue
      shared.push(sandboxId)
    }
    return shared
  }

  /** False when the user id is already taken. */
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

  private async free(name: string): Promise<void> {
    await unlink(join(this.folder, name)).catch(() => {})
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
