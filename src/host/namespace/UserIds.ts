/**
 * One user of the host for each Sandbox, so that Sandboxes are strangers to each other and to everybody else.
 *
 * `<folder>/<uid>` holds the Sandbox's id; a hard link makes taking one atomic, between processes too.
 */
import { randomUUID } from "node:crypto"
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const FIRST_UID = 2_000_000
const LAST_UID = 2_065_535

export class UserIdsExhausted extends Error {}

export class UserIds {
  private readonly folder: string

  constructor(folder: string) {
    this.folder = folder
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  take(sandboxId: string): number {
    const candidate = join(this.folder, `.${randomUUID()}`)
    writeFileSync(candidate, sandboxId)
    try {
      const taken = new Set(readdirSync(this.folder))
      for (let uid = FIRST_UID; uid <= LAST_UID; uid++) {
        if (taken.has(String(uid))) continue
        try {
          linkSync(candidate, join(this.folder, String(uid)))
          return uid
        } catch (cause) {
          if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause
        }
      }
      throw new UserIdsExhausted(`all of the user ids ${FIRST_UID} to ${LAST_UID} are taken`)
    } finally {
      rmSync(candidate, { force: true })
    }
  }

  release(uid: number): void {
    rmSync(join(this.folder, String(uid)), { force: true })
  }

  /** Frees those whose Sandbox does not exist: taken by a service that was killed before it wrote so down. */
  reclaim(exists: (sandboxId: string, uid: number) => boolean): void {
    for (const name of readdirSync(this.folder)) {
      const path = join(this.folder, name)
      if (name.startsWith(".") || !exists(readFileSync(path, "utf8"), Number(name))) rmSync(path, { force: true })
    }
  }
}
