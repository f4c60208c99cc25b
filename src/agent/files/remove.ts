/**
 * DELETE: an entry, or a whole tree with `recursive`. Links are removed, never followed.
 *
 * The tree is walked with one open directory at a time: down by `O_NOFOLLOW`, up by `..` with the identity checked against the one
 * that was left, so neither depth nor a directory that is moved meanwhile leads anywhere else. Memory is a name and a number a level.
 *
 * @source contract-details.md "DELETE files"
 */
import fs from "node:fs"
import { errnoOf, FileRefusal, refusalFor } from "./FileRefusal.ts"
import { at, Held, held, O_PATH, type Workspace } from "./Workspace.ts"

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = fs.constants

/** Entries unlinked side by side in Node's thread pool. */
const batchEntries = 256
/** Somebody fills or moves the directories while they are emptied: the walk starts over this many times. */
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

/** It became a directory, or none, between the look and the act. */
const isOfOtherKind = (cause: unknown): boolean => ["EISDIR", "ENOTDIR"].includes(errnoOf(cause) ?? "")

/** Removes `name` in `parent` and everything below it. Throws system errors; ENOENT when there is nothing. */
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

/** Empties a directory and closes it. False: the way back up was moved away; start over. */
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

/** Unlinks what is no directory and removes empty directories; the first directory that is not empty is returned, null when none is left. */
const emptyLevel = async (directory: Held): Promise<string | null> => {
  using entries = openEntries(directory)
  for (;;) {
    const batch: Array<fs.Dirent> = []
    for (let entry = entries.dir.readSync(); entry !== null; entry = entries.dir.readSync()) {
      batch.push(entry)
      if (batch.length === batchEntries) break
    }
    if (batch.length === 0) return null
    const left = await Promise.all(batch.map((entry) => removeEntry(directory, entry.name)))
    const below = left.find((name) => name !== null)
    if (below !== undefined) return below
  }
}

const openEntries = (directory: Held): Disposable & { readonly dir: fs.Dir } => {
  const dir = fs.opendirSync(held(directory.descriptor), { encoding: "latin1", bufferSize: batchEntries })
  return { dir, [Symbol.dispose]: () => dir.closeSync() }
}

/** The name again when it is a directory that is not empty. */
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
      // Linux says EISDIR for a directory, POSIX EPERM; and a directory without write permission says EACCES.
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

/** Null when it is no directory (any more). One that its owner may not read is made readable: it is about to go. */
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

/** False: it was filled or replaced meanwhile, which the next look at its level sees. */
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
