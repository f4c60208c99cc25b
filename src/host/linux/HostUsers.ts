/**
 * One user of the host for each Sandbox, so that Sandboxes, and whatever carries them, are strangers to each other and to everybody else.
 *
 * A user is taken by making `<folder>/<uid>` as a link to the Sandbox's folder, which only one can do, between processes too.
 */
import { existsSync, mkdirSync, readdirSync, readlinkSync } from "node:fs"
import { rename, rm, symlink, unlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { sandboxFolder } from "./SandboxRecords.ts"

export interface UserRange {
  readonly first: number
  readonly count: number
}

export class UsersExhausted extends Error {}

export class HostUsers {
  private readonly folder: string
  /** Where this driver's Sandboxes have their folders. */
  private readonly root: string
  /** Null when we are not root: everything runs as our own user. */
  private readonly range: UserRange | null

  constructor(folder: string, root: string, range: UserRange | null) {
    this.folder = folder
    this.root = root
    this.range = range
    if (range !== null) mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  /** The Sandbox's own: the one that it has, or another. Null: our own user. Rejects with `UsersExhausted` when all are taken. */
  async take(sandboxId: string): Promise<number | null> {
    if (this.range === null) return null
    const { first, count } = this.range
    const target = sandboxFolder(this.root, sandboxId)
    const taken = new Set(readdirSync(this.folder))
    for (const name of taken) if (this.targetOf(name) === target) return Number(name)
    for (let uid = first; uid < first + count; uid++) {
      if (!taken.has(String(uid)) && (await this.claim(uid, sandboxId))) return uid
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
  }

  async release(uid: number | null, sandboxId: string): Promise<void> {
    if (uid !== null && this.targetOf(String(uid)) === sandboxFolder(this.root, sandboxId)) {
      await unlink(this.pathOf(uid)).catch(() => {})
    }
  }

  /** Frees what was taken for Sandboxes that are gone. `known`: what Sandboxes have by their own records, which goes before. */
  async settle(known: ReadonlyArray<{ readonly sandboxId: string; readonly uid: number | null }>): Promise<void> {
    if (this.range === null) return
    for (const name of readdirSync(this.folder)) {
      const target = this.targetOf(name)
      if (target !== null && dirname(target) === this.root && !existsSync(target)) await rm(join(this.folder, name))
    }
    for (const { sandboxId, uid } of known) if (uid !== null) await this.claim(uid, sandboxId)
  }

  /** False when it is taken. */
  private async claim(uid: number, sandboxId: string): Promise<boolean> {
    try {
      await symlink(sandboxFolder(this.root, sandboxId), this.pathOf(uid))
      return true
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "EEXIST") return false
      throw cause
    }
  }

  private pathOf(uid: number): string {
    return join(this.folder, String(uid))
  }

  private targetOf(name: string): string | null {
    try {
      return readlinkSync(join(this.folder, name))
    } catch {
      return null
    }
  }
}
