/**
 * Files that are being written wait in /workspace/.atoll-staging, on the volume itself, so that one rename puts them in place.
 *
 * Node cannot make a nameless file (naming an `O_TMPFILE` needs `linkat` with AT_SYMLINK_FOLLOW), so staged files have names. Because the folder is
 * fixed, a crash's leftovers are found without a walk over the whole volume: `sweep` empties it when the agent starts. The folder exists only while
 * it has content, no listing shows it and no path may name it. A write therefore also leaves the membership of other directories unchanged.
 */

import fs from "node:fs"
import { kernelRandom } from "../kernelRandom.ts"
import { errnoOf } from "./FileRefusal.ts"
import { removeTree } from "./remove.ts"
import { at, Held, O_PATH, stagingName, type Workspace } from "./Workspace.ts"

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_WRONLY } = fs.constants

/** How often the folder is made again when a process in the Sandbox removes it. */
const attemptsMax = 16

/** One name in the staging folder. Disposing it unlinks the file that still has that name. */
export interface StagedName extends Disposable {
  readonly path: Buffer
}

/** A file being written. Disposing it also closes it. */
export interface StagedFile extends StagedName {
  readonly descriptor: number
}

export class Staging {
  readonly #workspace: Workspace
  #inUse = 0

  constructor(workspace: Workspace) {
    this.#workspace = workspace
  }

  /** A new empty file, mode 0600. */
  create(): StagedFile {
    const { name, made: descriptor } = this.#claim((path) =>
      fs.openSync(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600)
    )
    const file = {
      path: name.path,
      descriptor,
      [Symbol.dispose]: () => {
        fs.closeSync(descriptor)
        name[Symbol.dispose]()
      }
    }
    try {
      this.#workspace.own(descriptor)
      return file
    } catch (cause) {
      file[Symbol.dispose]()
      throw cause
    }
  }

  /** A new symbolic link. */
  symlink(target: string): StagedName {
    const { name } = this.#claim((path) => fs.symlinkSync(Buffer.from(target, "latin1"), path))
    try {
      this.#workspace.ownLink(name.path)
      return name
    } catch (cause) {
      name[Symbol.dispose]()
      throw cause
    }
  }

  /** Makes a second name of a file or link. Throws ENOENT when the entry does not exist. */
  secondName(entry: Buffer): StagedName {
    return this.#claim((path) => fs.linkSync(entry, path)).name
  }

  /** Keeps the folder until disposal, so that a series of files does not make and remove it for each. */
  keep(): Disposable {
    const folder = this.#open()
    this.#inUse += 1
    return {
      [Symbol.dispose]: () => {
        folder[Symbol.dispose]()
        this.#leave()
      }
    }
  }

  /** Moves a file, link or special file into the staging folder in one rename. */
  moveAway(entry: Buffer): StagedName {
    return this.#claim((path) => fs.renameSync(entry, path)).name
  }

  /** `make` creates an entry under a fresh name. */
  #claim<A>(make: (path: Buffer) => A): { readonly name: StagedName; readonly made: A } {
    for (let attempts = 0; ; attempts += 1) {
      const folder = this.#open()
      this.#inUse += 1
      const path = at(folder.descriptor, kernelRandom(12).toString("hex"))
      const name = {
        path,
        [Symbol.dispose]: () => {
          unlinkIfThere(path)
          folder[Symbol.dispose]()
          this.#leave()
        }
      }
      try {
        return { name, made: make(path) }
      } catch (cause) {
        name[Symbol.dispose]()
        // The folder was removed after it was opened. (A missing source of a move gives the same error, and gives it again.)
        if (errnoOf(cause) !== "ENOENT" || attempts >= attemptsMax) throw cause
      }
    }
  }

  #open(): Held {
    const path = at(this.#workspace.root, stagingName)
    for (let attempts = 0; ; attempts += 1) {
      try {
        fs.mkdirSync(path, 0o700)
      } catch (cause) {
        if (errnoOf(cause) !== "EEXIST") throw cause
      }
      try {
        return new Held(fs.openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW))
      } catch (cause) {
        const errno = errnoOf(cause)
        if (attempts >= attemptsMax) throw cause
        // The staging name is reserved, so any other entry of that name is removed.
        if (errno === "ENOTDIR") unlinkIfThere(path)
        else if (errno !== "ENOENT") throw cause
      }
    }
  }

  #leave(): void {
    this.#inUse -= 1
    if (this.#inUse > 0) return
    try {
      fs.rmdirSync(at(this.#workspace.root, stagingName))
    } catch {
      // Not empty (the Sandbox put something there) or gone: the next sweep handles it.
    }
  }

  /** Removes the leftovers of a crashed agent. Called once at the agent's start, before any other call. */
  async sweep(): Promise<void> {
    try {
      await removeTree(this.#workspace, this.#workspace.root, stagingName)
    } catch {
      // Missing; or an entry of another user of the Sandbox, which stays hidden and does no harm.
    }
  }
}

const unlinkIfThere = (path: Buffer): void => {
  try {
    fs.unlinkSync(path)
  } catch (cause) {
    if (errnoOf(cause) !== "ENOENT") throw cause
  }
}
