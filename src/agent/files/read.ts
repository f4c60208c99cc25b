/**
 * Opens a range of a file: this module checks and versions it, and the route streams it from the returned descriptor.
 *
 * @source contract.md "Files", GET content
 */
import { FileRefusal } from "./FileRefusal.ts"
import { settledStat, versionOf } from "./version.ts"
import type { Held, Workspace } from "./Workspace.ts"

export interface RangeToRead {
  readonly offset: number
  readonly nextOffset: number
  readonly sizeBytes: number
  readonly eof: boolean
  readonly version: string
  /** The caller closes it. */
  readonly file: Held
}

/** At most `maxBytes` from `offset`; past the end nothing, at the offset asked for. `version` null: the current content. */
export const openRange = async (
  workspace: Workspace,
  path: string,
  options: { readonly offset: number; readonly maxBytes: number; readonly version: string | null }
): Promise<RangeToRead> => {
  const { file, stat: first, place } = workspace.open(path, "file")
  place[Symbol.dispose]()
  try {
    const reachesEnd = options.offset + options.maxBytes >= Number(first.size)
    // Only a read that leaves a rest for later needs a version that shows every later change.
    const stat = reachesEnd ? first : await settledStat(file.descriptor)
    const version = versionOf(stat)
    if (options.version !== null && options.version !== version) {
      throw new FileRefusal(
        "CURSOR_STALE",
        "The file changed after this cursor was issued. Read it again from the start."
      )
    }
    const sizeBytes = Number(stat.size)
    const nextOffset = Math.max(options.offset, Math.min(options.offset + options.maxBytes, sizeBytes))
    return { offset: options.offset, nextOffset, sizeBytes, eof: nextOffset >= sizeBytes, version, file }
  } catch (cause) {
    file[Symbol.dispose]()
    throw cause
  }
}
