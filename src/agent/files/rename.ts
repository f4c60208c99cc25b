/**
 * Rename inside /workspace. Source and destination are entries: a link itself is moved, not its target.
 *
 * With `overwrite` it is rename(2). Without it the destination must not be replaced even if it appears meanwhile, and Node has no
 * `renameat2(RENAME_NOREPLACE)`. Instead the kernel's own exclusive calls claim the name:
 * - a directory: mkdir(2) makes the destination, which fails if the name is taken; rename(2) then replaces that empty directory, and fails if another
 *   process has put something into it.
 * - any other file: link(2) gives the file its second name, which fails if the name is taken; then the old name is removed. If another file has
 *   taken the old name in between, it is put back.
 * For an instant both names exist. The destination is never overwritten, and no content is lost. An agent that is killed in that instant leaves both:
 * two names of one file, or the directory and an empty one. Therefore the contract asks clients to check both paths after a transport failure.
 * (Coreutils' `mv -n` calls renameat2, but reports neither by its exit code nor by its output that it did not move; and a Sandbox may have replaced it.)
 *
 * @source contract.md "File rules" 2, contract-details.md "Fine print", rename(2)
 */
import fs from "node:fs"
import { errnoOf, FileRefusal, refusalFor } from "./FileRefusal.ts"
import type { StagedName, Staging } from "./Staging.ts"
import { Held, held, O_PATH, type Place, type Workspace } from "./Workspace.ts"

/** How often the source is read again when it changes its kind between two calls. */
const attemptsMax = 16

export const renamePath = (
  workspace: Workspace,
  staging: Staging,
  path: string,
  destination: string,
  options: { readonly overwrite: boolean }
): void => {
  using from = workspace.place(path, "entry")
  using to = workspace.place(destination, "entry")
  if (from.name === null || to.name === null) {
    throw new FileRefusal("INVALID_PATH", "/workspace itself cannot be renamed or replaced.", {
      reason: "workspace_root"
    })
  }
  try {
    if (options.overwrite) replace(from, to)
    else claim(staging, from, to)
  } catch (cause) {
    throw errnoOf(cause) === "EINVAL" ? intoItself() : refusalFor(cause)
  }
}

const intoItself = () =>
  new FileRefusal("INVALID_PATH", "A directory cannot be moved into itself.", { reason: "into_itself" })

const missing = () => new FileRefusal("NOT_FOUND", "There is nothing at this path.")

const replace = (from: Place, to: Place): void => {
  try {
    fs.renameSync(from.path, to.path)
  } catch (cause) {
    const errno = errnoOf(cause)
    if (errno === "ENOTEMPTY" || errno === "EEXIST" || (errno === "EISDIR" && !isEmpty(to))) throw notEmpty()
    if (errno === "ENOTDIR")
      throw new FileRefusal("NOT_A_DIRECTORY", "A directory cannot replace what is not a directory.")
    if (errno === "EISDIR") throw new FileRefusal("IS_A_DIRECTORY", "A file cannot replace a directory.")
    throw cause
  }
}

const claim = (staging: Staging, from: Place, to: Place): void => {
  for (let attempts = 0; ; attempts += 1) {
    const stat = from.lstat()
    if (stat === null) throw missing()
    try {
      if (stat.isDirectory()) moveDirectory(from, to)
      else moveFile(staging, from, to)
      return
    } catch (cause) {
      // EISDIR, ENOTDIR, EPERM: the source has changed its kind.
      const now = from.lstat()
      if (now === null || now.isDirectory() === stat.isDirectory() || attempts >= attemptsMax) throw cause
    }
  }
}

const moveDirectory = (from: Place, to: Place): void => {
  exclusively(() => fs.mkdirSync(to.path, 0o700))
  try {
    fs.renameSync(from.path, to.path)
  } catch (cause) {
    try {
      fs.rmdirSync(to.path)
    } catch {
      // Another process put something into it, so it stays.
    }
    const errno = errnoOf(cause)
    throw errno === "ENOTEMPTY" || errno === "EEXIST" || errno === "ENOTDIR" ? exists() : cause
  }
}

const moveFile = (staging: Staging, from: Place, to: Place): void => {
  exclusively(() => fs.linkSync(from.path, to.path))
  const moved = to.lstat()
  using old = takeAway(staging, from, moved)
  if (old === null) return
  const taken = fs.lstatSync(old.path, { bigint: true })
  if (moved === null || isSame(taken, moved)) return
  // Another file took the old name between the two calls. It is put back, unless a third file has taken the name since and so replaced it.
  try {
    fs.linkSync(old.path, from.path)
  } catch (cause) {
    if (errnoOf(cause) !== "EEXIST") throw cause
  }
}

/** Null when it is gone already. On a full volume the staging folder may have no room; then a check must do. */
const takeAway = (staging: Staging, from: Place, moved: fs.BigIntStats | null): StagedName | null => {
  try {
    return staging.moveAway(from.path)
  } catch {
    const now = from.lstat()
    if (now !== null && moved !== null && isSame(now, moved)) fs.unlinkSync(from.path)
    return null
  }
}

const isSame = (one: fs.BigIntStats, other: fs.BigIntStats): boolean => one.dev === other.dev && one.ino === other.ino

/** `act` fails with EEXIST when the destination is taken. */
const exclusively = (act: () => void): void => {
  try {
    act()
  } catch (cause) {
    if (errnoOf(cause) !== "EEXIST") throw cause
    throw exists()
  }
}

const exists = () =>
  new FileRefusal("DESTINATION_EXISTS", "There is already something at the destination. Set overwrite to replace it.")

const notEmpty = () => new FileRefusal("DIRECTORY_NOT_EMPTY", "The destination is a directory that is not empty.")

const isEmpty = (place: Place): boolean => {
  using directory = new Held(fs.openSync(place.path, O_PATH | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW))
  const dir = fs.opendirSync(held(directory.descriptor))
  try {
    return dir.readSync() === null
  } finally {
    dir.closeSync()
  }
}
