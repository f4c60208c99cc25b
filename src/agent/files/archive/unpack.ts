/**
 * Unpacks a tar archive into a directory while it arrives.
 *
 * Each file is complete in the staging folder before one rename puts it in place, so after a truncated archive every file is the old or the new one.
 * An existing entry at the place of a file or link is replaced, never written to or followed: neither a link's target nor the other names of a file
 * change. A directory is never replaced, and its other entries are not touched.
 */
import fs from "node:fs"
import { setImmediate as turn } from "node:timers/promises"
import { ByteSource } from "../../../platform/tar/ByteSource.ts"
import { tarEntries } from "../../../platform/tar/tarEntries.ts"
import { paddingOf } from "../../../platform/tar/tarHeader.ts"
import { errnoOf, FileRefusal } from "../FileRefusal.ts"
import { archiveDelayedMaxBytes, archiveEntriesMax } from "../limits.ts"
import { nameText } from "../names.ts"
import type { Staging } from "../Staging.ts"
import { held, type Workspace } from "../Workspace.ts"
import { writeAll } from "../write.ts"
import { ArchiveFault, archiveFaultFor, malformed, truncated } from "./ArchiveFault.ts"
import { type ArchiveEntry, archiveEntry, refuseUnsupported, withoutTarFault } from "./archiveEntry.ts"
import { componentsOf, Destination } from "./Destination.ts"

export interface Unpacked {
  /** Files, directories and links that were made or replaced. */
  readonly entries: number
  /** Content of files. */
  readonly bytes: number
}

/** Entries per slice between other calls: some milliseconds. */
const sliceEntries = 32
/** Content that is written synchronously, without a trip through the thread pool. */
const smallBytes = 64 * 1024
/** A large file is written in parts of this size while the rest still arrives. */
const writeBytes = 256 * 1024
/** Bounds the name of the last entry in an error. */
const shownNameMaxCharacters = 1024
/** Bytes allowed behind the archive's end, such as tar's own padding. */
const afterEndMaxBytes = 1024 * 1024

/** Node takes a negative number as the current time. */
const timeOf = (seconds: number): number | Date => (seconds < 0 ? new Date(seconds * 1000) : seconds)

/** @param archive Not compressed. Its errors other than ArchiveFault are thrown unchanged. */
export const unpack = async (
  workspace: Workspace,
  staging: Staging,
  path: string,
  archive: AsyncIterable<Uint8Array>,
  entriesMax = archiveEntriesMax
): Promise<Unpacked> => {
  workspace.makeDirectories(path)
  const { file, place } = workspace.open(path, "directory")
  place[Symbol.dispose]()
  using destination = new Destination(workspace, file)
  const unpacking = new Unpacking(staging, destination, new ByteSource(archive), entriesMax)
  return await unpacking.run()
}

interface Attributes {
  readonly mode: number
  readonly mtime: number
}

class Unpacking {
  readonly #staging: Staging
  readonly #destination: Destination
  readonly #source: ByteSource
  readonly #entriesMax: number
  #entries = 0
  #bytes = 0
  #lastName: string | null = null
  /** Attributes of directories, by name. They are set last: an entry put into a directory changes its time, and its mode may forbid that. */
  readonly #delayed = new Map<string, Attributes>()
  #delayedBytes = 0

  constructor(staging: Staging, destination: Destination, source: ByteSource, entriesMax: number) {
    this.#staging = staging
    this.#destination = destination
    this.#source = source
    this.#entriesMax = entriesMax
  }

  async run(): Promise<Unpacked> {
    using _ = this.#keepStaging()
    try {
      for await (const told of tarEntries(this.#source, refuseUnsupported)) {
        const entry = archiveEntry(told)
        if (this.#entries >= this.#entriesMax) {
          throw new ArchiveFault("too_large", `An archive has at most ${this.#entriesMax} entries.`)
        }
        await this.#take(entry)
        this.#entries += 1
        this.#lastName = entry.name
        if (this.#entries % sliceEntries === 0) await turn()
      }
      this.#attributeAll()
      await this.#pastEnd()
    } catch (cause) {
      this.#attributeAll()
      throw this.#told(archiveFaultFor(withoutTarFault(cause)))
    }
    return { entries: this.#entries, bytes: this.#bytes }
  }

  /** This may be the first write that a volume refuses. */
  #keepStaging(): Disposable {
    try {
      return this.#staging.keep()
    } catch (cause) {
      throw this.#told(archiveFaultFor(cause))
    }
  }

  /** Adds to the error how much was unpacked. */
  #told(cause: unknown): unknown {
    // The entries unpacked before the volume became read-only exist.
    if (cause instanceof FileRefusal && cause.code === "VOLUME_READ_ONLY" && this.#entries > 0)
      return new FileRefusal("VOLUME_FAILED", cause.message)
    if (!(cause instanceof ArchiveFault)) return cause
    const lastPath =
      this.#lastName === null ? null : [...nameText(this.#lastName)].slice(0, shownNameMaxCharacters).join("")
    return new FileRefusal("ARCHIVE_INCOMPLETE", cause.message, {
      reason: cause.reason,
      entries: this.#entries,
      bytes: this.#bytes,
      lastPath
    })
  }

  async #take(entry: ArchiveEntry): Promise<void> {
    const components = componentsOf(entry.name)
    if (components.length === 0) {
      // The directory itself keeps its mode.
      if (entry.kind !== "directory") throw new ArchiveFault("unsafe_name", "A file or link has no name.")
    } else if (entry.kind === "directory") this.#takeDirectory(components, entry)
    else if (entry.kind === "file") return await this.#takeFile(components, entry)
    else if (entry.kind === "symlink") this.#takeSymlink(components, entry)
    else this.#takeHardLink(components, entry)
    if (!(await this.#source.skip(entry.size + paddingOf(entry.size)))) throw truncated()
  }

  #takeDirectory(components: ReadonlyArray<string>, { mode, mtime }: ArchiveEntry): void {
    this.#unsealing(components, () => this.#destination.directory(components))
    const name = components.join("/")
    if (this.#delayed.delete(name)) this.#delayedBytes -= costOf(name)
    this.#delayed.set(name, { mode, mtime })
    this.#delayedBytes += costOf(name)
    // The oldest comes first: an archive keeps a directory's entries together.
    for (const [oldest, attributes] of this.#delayed) {
      if (this.#delayedBytes <= archiveDelayedMaxBytes) break
      this.#attribute(oldest, attributes)
    }
  }

  async #takeFile(components: ReadonlyArray<string>, { size, mode, mtime }: ArchiveEntry): Promise<void> {
    using staged = this.#staging.create()
    await this.#pour(staged.descriptor, size)
    fs.futimesSync(staged.descriptor, timeOf(mtime), timeOf(mtime))
    fs.fchmodSync(staged.descriptor, mode)
    // The path is walked only after all slow work is done.
    this.#rename(staged.path, components)
    this.#bytes += size
  }

  /** Writes the content and skips the padding. */
  async #pour(descriptor: number, size: number): Promise<void> {
    if (size <= smallBytes) {
      const content = await this.#source.exactly(size + paddingOf(size))
      if (content.byteLength < size + paddingOf(size)) throw truncated()
      for (let at = 0; at < size; ) at += fs.writeSync(descriptor, content, at, size - at)
      return
    }
    for (let left = size; left > 0; ) {
      const pieces: Array<Uint8Array> = []
      for (let gathered = 0; gathered < writeBytes && left > 0; ) {
        const piece = await this.#source.some(Math.min(left, writeBytes - gathered))
        if (piece === null) throw truncated()
        pieces.push(piece)
        gathered += piece.byteLength
        left -= piece.byteLength
      }
      await writeAll(descriptor, pieces)
    }
    if (!(await this.#source.skip(paddingOf(size)))) throw truncated()
  }

  #takeSymlink(components: ReadonlyArray<string>, { target, mtime }: ArchiveEntry): void {
    if (target === "") throw malformed("a symbolic link points to nothing")
    using staged = this.#staging.symlink(target)
    fs.lutimesSync(staged.path, timeOf(mtime), timeOf(mtime))
    this.#rename(staged.path, components)
  }

  #takeHardLink(components: ReadonlyArray<string>, { target }: ArchiveEntry): void {
    const first = componentsOf(target)
    if (first.length === 0) throw missingTarget()
    using staged = this.#secondName(first)
    // If both are names of one file, rename(2) leaves both; disposal removes the staged one.
    this.#rename(staged.path, components)
  }

  #rename(staged: Buffer, components: ReadonlyArray<string>): void {
    this.#unsealing(components, () => fs.renameSync(staged, this.#destination.place(components)))
  }

  /** An earlier upload of the same tree that ends meanwhile may set a directory's mode so that its owner cannot write: then opens the directory again. */
  #unsealing(components: ReadonlyArray<string>, act: () => void): void {
    try {
      act()
    } catch (cause) {
      if (errnoOf(cause) !== "EACCES") throw cause
      for (let depth = 1; depth < components.length; depth++) {
        const above = components.slice(0, depth)
        if (this.#delayed.has(above.join("/"))) this.#destination.directory(above)
      }
      act()
    }
  }

  #secondName(components: ReadonlyArray<string>) {
    try {
      return this.#staging.secondName(this.#destination.placeOfExisting(components))
    } catch (cause) {
      throw errnoOf(cause) === "ENOENT" ? missingTarget() : cause
    }
  }

  #attributeAll(): void {
    // Deepest first, because a directory's own mode may block access to those below it.
    for (const [name, attributes] of [...this.#delayed].reverse()) this.#attribute(name, attributes)
  }

  #attribute(name: string, { mode, mtime }: Attributes): void {
    this.#delayed.delete(name)
    this.#delayedBytes -= costOf(name)
    try {
      const directory = held(this.#destination.existing(name.split("/")))
      fs.utimesSync(directory, timeOf(mtime), timeOf(mtime))
      fs.chmodSync(directory, mode)
    } catch {
      // A command moved it or put something else there, which stays.
    }
  }

  /** A compressed stream has its own end behind the archive's, with a checksum of everything. */
  async #pastEnd(): Promise<void> {
    for (let left = afterEndMaxBytes; left > 0; ) {
      const piece = await this.#source.some(left)
      if (piece === null) return
      left -= piece.byteLength
    }
    await this.#source.end()
  }
}

const costOf = (name: string): number => name.length + 128

const missingTarget = () =>
  new ArchiveFault("missing_target", "A hard link's other name is not in the archive before it, nor in the directory.")
