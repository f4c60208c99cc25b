/**
 * DELETE: an entry, or a whole tree with `recursive`. Links are removed, never followed.
 *
 * The walk keeps one directory open at a time: it goes down with `O_NOFOLLOW` and up by `..`, where it checks the identity against the directory that
 * it left. So neither depth nor a directory that is moved meanwhile leads outside. Memory is one name and one number per level.
 *
 * @source contract-details.md "DELETE files"
 */
import fs from "node:fs"
import { errnoOf, FileRefusal, refusalFor } from "./FileRefusal.ts"
import { at, Held, held, O_PATH, type Workspace } from "./Workspace.ts"

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = fs.constants

/** Entries unlinked concurrently in Node's thread pool. */
const batchEntries = 256
/** How often the walk starts over when a process fills or moves the directories meanwhile. */
const restartsMax = 64

export const removePath = async (
  workspace: Workspace,
  path: string,
  options: { readonly recursive: boolean }
): Promise<void> => {
  using place = workspace.place(path, "entry")
  if (place.name === null) {
    throw new FileRefusal("INVALID_PATH", "/workspace itself cannot be removed.", { reason: "workspace_root" })
  }
  for (let attempts = 0; ; attempts += 1) {
    const stat = place.lstat()
    if (stat === null) throw new FileRefusal("NOT_FOUND", "There is nothing at this path.")
    try {
      if (!stat.isDirectory()) fs.unlinkSync(place.path)
      else if (!options.recursive) fs.rmdirSync(place.path)
      else await removeTree(workspace, place.directory, place.name)
      return
    } catch (cause) {
      if (!isOfOtherKind(cause) || attempts >= restartsMax) throw refusalFor(cause)
    }
  }
}

/** It became a directory, or stopped being one, between check and removal. */
const isOfOtherKind = (cause: unknown): boolean => ["EISDIR", "ENOTDIR"].includes(errnoOf(cause) ?? "")

/** Removes `name` in `parent` and everything below it. Throws system errors; ENOENT when it does not exist. */
export const removeTree = async (workspace: Workspace, parent: number, name: string): Promise<void> => {
  for (let restarts = 0; ; restarts += 1) {
    if (restarts > restartsMax)
      throw new FileRefusal("DIRECTORY_NOT_EMPTY", "The directory is being filled while it is removed.")
    const top = openDirectory(parent, name)
    if (top === null) {
      try {
        fs.unlinkSync(at(parent, name))
        return
      } catch (cause) {
        if (!isOfOtherKind(cause)) throw cause
        continue
      }
    }
    if (!(await emptyTree(workspace, top))) continue
    if (removeEmpty(at(parent, name))) return
  }
}

interface Level {
  /** The name of the level below, as seen from this directory. */
  readonly below: string
  readonly dev: bigint
  readonly ino: bigint
}

/** Empties a directory and closes it. False when the way back up was moved away: start over. */
const emptyTree = async (workspace: Workspace, top: Held): Promise<boolean> => {
  const above: Array<Level> = []
  let here = top
  let refilled = 0
  try {
    for (;;) {
      workspace.sameMount(here.descriptor)
      const below = await emptyLevel(here)
      if (below !== null) {
        const next = openDirectory(here.descriptor, below)
        if (next === null) continue
        const { dev, ino } = fs.fstatSync(here.descriptor, { bigint: true })
        above.push({ below, dev, ino })
        here[Symbol.dispose]()
        here = next
        continue
      }
      const up = above.pop()
      if (up === undefined) return true
      const back = new Held(fs.openSync(at(here.descriptor, ".."), O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
      here[Symbol.dispose]()
      here = back
      const stat = fs.fstatSync(here.descriptor, { bigint: true })
      if (stat.dev !== up.dev || stat.ino !== up.ino) return false
      if (removeEmpty(at(here.descriptor, up.below))) continue
      refilled += 1
      if (refilled > restartsMax) return false
    }
  } finally {
    here[Symbol.dispose]()
  }
}

/** Unlinks non-directories and removes empty directories. Returns the first directory that is not empty; null when none is left. */
const emptyLevel = async (directory: Held): Promise<string | null> => {
  using entries = openEntries(directory)
  for (;;) {
    const batch: Array<fs.Dirent> = []
    for (let entry = entries.dir.readSync(); entry !== null; entry = entries.dir.readSync()) {
      batch.push(entry)
      if (batch.length === batchEntries) break
    }
    if (batch.length === 0) return null
    // All must end before the descriptor in their paths is closed: another directory would get its number.
    const ended = await Promise.allSettled(batch.map((entry) => removeEntry(directory, entry.name)))
    const failed = ended.find((one) => one.status === "rejected")
    if (failed !== undefined) throw failed.reason
    const below = ended.map((one) => (one as PromiseFulfilledResult<string | null>).value).find((name) => name !== null)
    if (below !== undefined) return below
  }
}

const openEntries = (directory: Held): Disposable & { readonly dir: fs.Dir } => {
  const dir = fs.opendirSync(held(directory.descriptor), { encoding: "latin1", bufferSize: batchEntries })
  return { dir, [Symbol.dispose]: () => dir.closeSync() }
}

/** Returns the name if it is a directory that is not empty. */
const removeEntry = async (directory: Held, name: string): Promise<string | null> => {
  const path = at(directory.descriptor, name)
  for (let permitted = false; ; permitted = true) {
    try {
      await fs.promises.unlink(path)
      return null
    } catch (cause) {
      const errno = errnoOf(cause)
      if (errno === "ENOENT") return null
      if (errno === "EISDIR") break
      // For a directory, Linux returns EISDIR and POSIX EPERM; a directory without write permission returns EACCES.
      if (errno === "EPERM" && fs.lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) break
      if (errno !== "EACCES" || permitted) throw cause
      fs.chmodSync(held(directory.descriptor), 0o700)
    }
  }
  for (let permitted = false; ; permitted = true) {
    try {
      await fs.promises.rmdir(path)
      return null
    } catch (cause) {
      const errno = errnoOf(cause)
      if (errno === "ENOENT") return null
      if (errno === "ENOTEMPTY" || errno === "EEXIST" || errno === "ENOTDIR") return name
      if (errno !== "EACCES" || permitted) throw cause
      fs.chmodSync(held(directory.descriptor), 0o700)
    }
  }
}

/** Null when it is not a directory (any more). A directory that its owner may not read is made readable, because it is about to be removed. */
const openDirectory = (parent: number, name: string): Held | null => {
  try {
    return new Held(fs.openSync(at(parent, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
  } catch (cause) {
    const errno = errnoOf(cause)
    if (errno === "ENOTDIR" || errno === "ELOOP") return null
    if (errno !== "EACCES") throw cause
  }
  using named = new Held(fs.openSync(at(parent, name), O_PATH | O_DIRECTORY | O_NOFOLLOW))
  fs.chmodSync(held(named.descriptor), 0o700)
  return new Held(fs.openSync(held(named.descriptor), O_RDONLY | O_DIRECTORY))
}

/** False when it was filled or replaced meanwhile; the next pass over its level finds it. */
const removeEmpty = (path: Buffer): boolean => {
  try {
    fs.rmdirSync(path)
    return true
  } catch (cause) {
    const errno = errnoOf(cause)
    if (errno === "ENOENT") return true
    if (errno === "ENOTEMPTY" || errno === "EEXIST" || errno === "ENOTDIR") return false
    throw cause
  }
}
