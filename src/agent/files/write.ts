/**
 * PUT: replaces the whole file. The body goes to a staged file, and one rename puts it in place. A reader sees the old or the new content and nothing
 * between, and any earlier failure leaves the old one.
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
const flush = (descriptor: number): Promise<void> => promisify(fs.fsync)(descriptor)

/** Flushes to the disk after this many bytes while the rest arrives, so that the last flush has little left. */
const flushBytes = 2 * 1024 * 1024

/** Small pieces (HTTP/2 sends 16 KiB frames) are gathered to this size before they are written. */
const gatherBytes = 256 * 1024

const modeOfNewFile = 0o644

/** @param isWanted Whether the client still waits; checked last. A late request that the client gave up must not undo later writes. */
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

/** Refuses an existing entry that is not a regular file; a free name is fine. */
const replaceable = (place: Place): void => {
  const stat = place.lstat()
  if (place.name === null || stat?.isDirectory()) throw new FileRefusal("IS_A_DIRECTORY", "This path is a directory.")
  // A link here was created after the path was resolved: it is replaced like a file, not followed.
  if (stat !== null && !stat.isFile() && !stat.isSymbolicLink()) throw specialFile()
}

/** The permissions of the new file: those of the file that it replaces. */
const modeAt = (place: Place): number => {
  const stat = place.lstat()
  return stat?.isFile() ? Number(stat.mode) & 0o777 : modeOfNewFile
}

/** `check` runs last: the agent does nothing between it and the rename. False when `check` failed and nothing was changed. */
export const commit = async (staged: StagedFile, place: Place, check: () => boolean): Promise<boolean> => {
  fs.fchmodSync(staged.descriptor, modeAt(place))
  // Without the flush, a power failure could leave an empty file under the new name.
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
  const flushes: Array<Promise<void>> = []
  try {
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
      // The kernel reports a failure only once per descriptor, so it must not be lost here. (The handler is attached immediately: the failure may come
      // before it is awaited.)
      const flushing = flush(staged.descriptor)
      flushing.catch(() => {})
      flushes.push(flushing)
    }
    await writeAll(staged.descriptor, pieces)
  } finally {
    // They use the descriptor, which is closed after a failure: another file would get its number.
    await Promise.allSettled(flushes)
  }
  await Promise.all(flushes)
}

/** writev may write less than asked (a full disk first writes what fits). */
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
