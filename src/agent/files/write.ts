/**
 * PUT: the whole file at once. The body goes to a staged file; one rename puts it in place, so a reader sees the old or the new content
 * and nothing between, and a failure anywhere before leaves the old one.
 *
 * @source contract-details.md "PUT content"
 */
import fs from "node:fs"
import { promisify } from "node:util"
import { FileRefusal, refusalFor, specialFile } from "./FileRefusal.ts"
import { contentMaxBytes } from "./limits.ts"
import type { StagedFile, Staging } from "./Staging.ts"
import type { Place, Workspace } from "./Workspace.ts"

const writeVector = promisify(fs.writev)
const flush = promisify(fs.fsync)

/** So much is on its way to the disk while the rest still comes; the last flush then has little left to wait for. */
const flushBytes = 2 * 1024 * 1024

/** Small pieces (HTTP/2 sends 16 KiB frames) are gathered to this size before they are written. */
const gatherBytes = 256 * 1024

const modeOfNewFile = 0o644

/** @param isWanted Whether somebody waits for it still, asked last: what was given up must not undo what was written since, however late it comes. */
export const writePath = async (
  workspace: Workspace,
  staging: Staging,
  path: string,
  body: AsyncIterable<Uint8Array>,
  isWanted: () => boolean = () => true
): Promise<void> => {
  using place = workspace.place(path, "target")
  replaceable(place)
  try {
    using staged = staging.create()
    await pour(staged, body)
    await commit(staged, place, () => {
      replaceable(place)
      return isWanted()
    })
  } catch (cause) {
    throw refusalFor(cause)
  }
}

/** Refuses what is no regular file; a name that is free is fine. */
const replaceable = (place: Place): void => {
  const stat = place.lstat()
  if (place.name === null || stat?.isDirectory()) throw new FileRefusal("IS_A_DIRECTORY", "This path is a directory.")
  // A link here was put in place after the path was resolved: it is replaced like a file, not followed.
  if (stat !== null && !stat.isFile() && !stat.isSymbolicLink()) throw specialFile()
}

/** The permissions that the new file takes: those of the file it replaces. */
const modeAt = (place: Place): number => {
  const stat = place.lstat()
  return stat?.isFile() ? Number(stat.mode) & 0o777 : modeOfNewFile
}

/** `check` runs last: between it and the rename the agent itself does nothing else. False: it said no, and nothing was changed. */
export const commit = async (staged: StagedFile, place: Place, check: () => boolean): Promise<boolean> => {
  fs.fchmodSync(staged.descriptor, modeAt(place))
  // Without it a power failure could leave an empty file under the new name.
  await flush(staged.descriptor)
  if (!check()) return false
  fs.renameSync(staged.path, place.path)
  return true
}

const pour = async (staged: StagedFile, body: AsyncIterable<Uint8Array>): Promise<void> => {
  let pieces: Array<Uint8Array> = []
  let gathered = 0
  let total = 0
  let flushed = 0
  let flushing: Promise<void> = Promise.resolve()
  for await (const piece of body) {
    total += piece.byteLength
    if (total > contentMaxBytes) {
      throw new FileRefusal("PAYLOAD_TOO_LARGE", `A file is written with at most ${contentMaxBytes} bytes.`, {
        limitBytes: contentMaxBytes
      })
    }
    pieces.push(piece)
    gathered += piece.byteLength
    if (gathered < gatherBytes) continue
    await writeAll(staged.descriptor, pieces)
    pieces = []
    gathered = 0
    if (total - flushed < flushBytes) continue
    flushed = total
    // A failure is told once for each descriptor, so it must not be lost here. (A handler at once: it may come before it is awaited.)
    flushing = Promise.all([flushing, flush(staged.descriptor)]).then(() => {})
    flushing.catch(() => {})
  }
  await writeAll(staged.descriptor, pieces)
  await flushing
}

/** writev may write less than asked (a full disk writes what fits first). */
export const writeAll = async (descriptor: number, pieces: ReadonlyArray<Uint8Array>): Promise<void> => {
  let rest = pieces.filter((piece) => piece.byteLength > 0)
  while (rest.length > 0) {
    let { bytesWritten } = await writeVector(descriptor, rest as Array<Uint8Array<ArrayBuffer>>)
    while (rest.length > 0 && bytesWritten >= rest[0]!.byteLength) {
      bytesWritten -= rest[0]!.byteLength
      rest = rest.slice(1)
    }
    if (bytesWritten > 0) rest = [rest[0]!.subarray(bytesWritten), ...rest.slice(1)]
  }
}
