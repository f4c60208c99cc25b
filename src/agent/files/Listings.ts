/**
 * GET list: pages of a directory in the file system's own order.
 *
 * Node has no `telldir`. So the names (only the names) of a directory that is being listed are kept, packed, until clients stop asking; each page
 * then costs one `lstat` per entry. The first page is answered when its names are read, and the reading continues in the background.
 *
 * A cursor is valid exactly while the *set* of names is unchanged. A directory with the same ctime is unchanged. A directory with another ctime may
 * still have the same members (a file in it was replaced by rename, or its mode was set): then the names are read again and compared, and the order
 * stays that of the cursor's earlier pages. A cursor carries enough to continue when the agent has forgotten the listing or was restarted: the
 * directory's identity and ctime, the hash of its members, the index, and the hash of the names already returned.
 *
 * Two cases answer CURSOR_STALE although the members are the same, because that cannot be proved: the directory was touched while its names (more
 * than `readAheadEntries`) were still being read; or it was touched, its native order changed, and the listing was forgotten in between.
 *
 * @source contract.md "File rules" 3
 */
import fs from "node:fs"
import { setImmediate as turn } from "node:timers/promises"
import { errnoOf, FileRefusal, refusalFor } from "./FileRefusal.ts"
import { ctimeText, directoryKey, Listing } from "./Listing.ts"
import { listingIdleMs, listingsMaxBytes } from "./limits.ts"
import { nameText } from "./names.ts"
import { type FileStat, fileStat } from "./stat.ts"
import { settledStat } from "./version.ts"
import { at, type Held, type Workspace } from "./Workspace.ts"

export interface Page {
  readonly entries: ReadonlyArray<FileStat>
  readonly next: Continuation | null
}

/** The state that the service seals into a cursor. */
export interface Continuation {
  readonly version: string
  readonly position: string
}

/** Entries per slice between other calls: under a millisecond. */
const statSlice = 128
/** Directories up to this size are read completely before the first page is answered, so that every cursor carries the membership. */
const readAheadEntries = 4096
/** A directory that is touched while it is read is read again this many times. */
const rereadsMax = 3

const stale = () =>
  new FileRefusal(
    "CURSOR_STALE",
    "The directory's entries changed after this cursor was issued. List it again from the start."
  )

export class Listings {
  readonly #workspace: Workspace
  /** By directory, least recently used first. */
  readonly #kept = new Map<string, { readonly listing: Listing; usedAt: number }>()
  #forgetting: NodeJS.Timeout | null = null

  constructor(workspace: Workspace) {
    this.#workspace = workspace
  }

  async list(path: string, options: { readonly pageSize: number; readonly after: Continuation | null }): Promise<Page> {
    const { file, place } = this.#workspace.open(path, "directory")
    place[Symbol.dispose]()
    using directory = file
    try {
      if (options.after === null) {
        const listing = await this.#current(directory, options.pageSize + 1)
        return await this.#page(directory, listing, 0, options.pageSize)
      }
      const cursor = parse(options.after)
      const listing = await this.#resume(directory, cursor, options.pageSize)
      return await this.#page(directory, listing, cursor.index, options.pageSize)
    } catch (cause) {
      throw refusalFor(cause)
    }
  }

  async #resume(directory: Held, cursor: Cursor, pageSize: number): Promise<Listing> {
    if (cursor.directory !== directoryKey(fs.fstatSync(directory.descriptor, { bigint: true }))) throw stale()
    const listing = await this.#current(directory, cursor.index + pageSize + 1)
    // The listing from which the cursor's pages came.
    if (listing.id === cursor.listing) return listing
    // The listing was forgotten. The directory was not touched since, or it was touched and has the same members.
    if (listing.ctime === "" || listing.ctime !== cursor.ctime) {
      await listing.done
      if (cursor.membership === "" || cursor.membership !== listing.membership) throw stale()
    }
    if (cursor.index > listing.names.length || listing.names.prefix(cursor.index) !== cursor.given) throw stale()
    return listing
  }

  /** The listing of the directory's current content, with `count` names read, or all. */
  async #current(directory: Held, count: number): Promise<Listing> {
    const stat = await settledStat(directory.descriptor)
    const known = this.#kept.get(directoryKey(stat))?.listing
    const listing =
      known === undefined ? await this.#read(directory, count) : await this.#renew(known, directory, count)
    await listing.atLeast(count)
    return listing
  }

  /** The known listing if its members are still the directory's; otherwise a new one. */
  async #renew(known: Listing, directory: Held, count: number): Promise<Listing> {
    if (known.state !== "broken" && known.ctime === ctimeText(fs.fstatSync(directory.descriptor, { bigint: true })))
      return known
    // A listing that was not read to its end cannot be compared.
    const fresh = await this.#read(directory, known.state === "complete" ? Number.POSITIVE_INFINITY : count)
    if (known.membership === "" || known.membership !== fresh.membership) return fresh
    known.ctime = fresh.ctime
    return known
  }

  async #read(directory: Held, count: number): Promise<Listing> {
    const isRoot = directoryKey(fs.fstatSync(directory.descriptor, { bigint: true })) === this.#rootKey()
    for (let rereads = 0; ; rereads += 1) {
      const stat = await settledStat(directory.descriptor)
      const listing = new Listing(directory, stat, { ahead: readAheadEntries, isRoot })
      await listing.atLeast(count)
      if (listing.state !== "broken" || rereads >= rereadsMax) return listing
    }
  }

  #rootKey(): string {
    return directoryKey(fs.fstatSync(this.#workspace.root, { bigint: true }))
  }

  async #page(directory: Held, listing: Listing, from: number, pageSize: number): Promise<Page> {
    const to = Math.min(from + pageSize, listing.names.length)
    const entries: Array<FileStat> = []
    for (let index = from; index < to; index += 1) {
      if ((index - from) % statSlice === statSlice - 1) await turn()
      const name = listing.names.at(index)
      try {
        entries.push(fileStat(nameText(name), fs.lstatSync(at(directory.descriptor, name))))
      } catch (cause) {
        if (errnoOf(cause) !== "ENOENT") throw cause
        // Removed since its name was read: a first page omits it (and its cursor is already stale), a later page answers CURSOR_STALE.
        if (from > 0) throw stale()
      }
    }
    if (listing.state !== "reading" && to === listing.names.length) return { entries, next: null }
    this.#keep(listing)
    return { entries, next: continuation(listing, to) }
  }

  #keep(listing: Listing): void {
    this.#kept.delete(listing.directory)
    this.#kept.set(listing.directory, { listing, usedAt: Date.now() })
    let bytes = 0
    for (const { listing } of this.#kept.values()) bytes += listing.names.heldBytes
    for (const [directory, { listing: oldest }] of this.#kept) {
      if (bytes <= listingsMaxBytes) break
      bytes -= oldest.names.heldBytes
      this.#kept.delete(directory)
    }
    this.#forgetting ??= setTimeout(() => this.#forgetIdle(), listingIdleMs).unref()
  }

  #forgetIdle(): void {
    this.#forgetting = null
    for (const [directory, { usedAt }] of this.#kept) {
      if (Date.now() - usedAt >= listingIdleMs) this.#kept.delete(directory)
    }
    if (this.#kept.size > 0) this.#forgetting = setTimeout(() => this.#forgetIdle(), listingIdleMs).unref()
  }
}

interface Cursor {
  readonly directory: string
  readonly ctime: string
  readonly membership: string
  readonly listing: string
  readonly index: number
  readonly given: string
}

const continuation = (listing: Listing, index: number): Continuation => ({
  version: `${listing.directory}~${listing.ctime}~${listing.membership}`,
  position: `${listing.id}~${index}~${listing.names.prefix(index)}`
})

const parse = ({ version, position }: Continuation): Cursor => {
  const [directory, ctime, membership] = version.split("~")
  const [listing, index, given] = position.split("~")
  // The service sealed it, so at worst it comes from another agent.
  if (directory === undefined || ctime === undefined || membership === undefined) throw stale()
  if (listing === undefined || index === undefined || given === undefined || !/^\d{1,7}$/.test(index)) throw stale()
  return { directory, ctime, membership, listing, index: Number(index), given }
}
