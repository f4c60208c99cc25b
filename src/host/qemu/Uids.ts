/**
 * One host user a machine, so that a QEMU which was taken over reaches no other Sandbox's files or processes.
 *
 * A user is taken by making `<root>/.uids/<uid>` as a link to the Sandbox's id, which only one can do.
 */
import { mkdir, readlink, rename, rm, symlink, unlink } from "node:fs/promises"

const MOST = 10_000

export class Uids {
  private readonly folder: string
  private readonly first: number | null

  /** `first`: the lowest uid to use; null when we are not root and everything runs as us. */
  constructor(root: string, first: number | null) {
    this.folder = `${root}/.uids`
    this.first = first
  }

  /** Null: our own user. Rejects when all are taken. */
  async take(sandboxId: string): Promise<number | null> {
    if (this.first === null) return null
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    for (let uid = this.first; uid < this.first + MOST; uid++) {
      const taken = await symlink(sandboxId, `${this.folder}/${uid}`).then(
        () => true,
        async (error: NodeJS.ErrnoException) => {
          if (error.code !== "EEXIST") throw error
          return (await readlink(`${this.folder}/${uid}`).catch(() => null)) === sandboxId
        }
      )
      if (taken) return uid
    }
    throw new Error(`All ${MOST} users for machines are taken.`)
  }

  /** From now on it is another's. */
  async pass(uid: number | null, sandboxId: string): Promise<void> {
    if (uid === null) return
    const partial = `${this.folder}/${uid}.partial`
    await rm(partial, { force: true })
    await symlink(sandboxId, partial)
    await rename(partial, `${this.folder}/${uid}`)
  }

  async release(uid: number | null, sandboxId: string): Promise<void> {
    if (uid === null) return
    const path = `${this.folder}/${uid}`
    if ((await readlink(path).catch(() => null)) === sandboxId) await unlink(path).catch(() => {})
  }
}
