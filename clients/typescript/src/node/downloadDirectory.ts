/// <reference types="node" />
/**
 * A directory of a Sandbox, unpacked while it comes. What the Sandbox sends is not trusted: no entry's way goes through a link, no name leads out
 * of the directory, no link is made that does, and what is put in place was a temporary file beside it, so nothing is written through a link.
 */
import { chmod, link, lstat, lutimes, mkdir, open, rename, rm, symlink, utimes } from "node:fs/promises"
import { ArchiveCut, broken, withoutTarFault } from "../archive/archiveFaults.ts"
import { nameOfBytes } from "../archive/names.ts"
import type { DirectoryTransfer, DownloadOptions } from "../DirectoryOptions.ts"
import { ByteSource } from "../generated/tar/ByteSource.ts"
import { type TarEntry, tarEntries } from "../generated/tar/tarEntries.ts"
import { paddingOf } from "../generated/tar/tarHeader.ts"
import { readAhead } from "../http/readAhead.ts"
import type { Transport } from "../http/Transport.ts"
import { canBeNamed, type LocalPath, ownName, ownPath, within } from "./localPath.ts"

const pieceBytes = 256 * 1024
const leftOutMax = 1000
/** Modes and times of so many directories are set when all else is done; those of more at once. */
const delayedMax = 50_000

/** Node takes a negative number for the present. */
const timeOf = (seconds: number): number | Date => (seconds < 0 ? new Date(seconds * 1000) : seconds)

/** What this machine's files failed with, which is no failure of the connection. */
class LocalFailure {
  readonly cause: unknown
  constructor(cause: unknown) {
    this.cause = cause
  }
}

export const downloadDirectory = async (
  transport: Transport,
  at: { readonly id: string; readonly path: string },
  localPath: string | Uint8Array,
  options: DownloadOptions
): Promise<DirectoryTransfer> => {
  const { signal } = options
  const done = await transport.read("downloadArchive", { parameters: at, signal }, async ({ body }) => {
    const source = new ByteSource(partsOf(body))
    try {
      return await new Unpacking(source, ownPath(localPath), options).run()
    } catch (thrown) {
      // Of the connection: the transport asks again.
      if (thrown instanceof ConnectionFailure) throw thrown.cause
      if (thrown instanceof ArchiveCut) throw thrown
      return new LocalFailure(thrown)
    } finally {
      await source.end()
    }
  })
  if (done instanceof LocalFailure) throw done.cause
  return done
}

/** Names are text, as the service shows them. */
interface Entry extends Omit<TarEntry, "name" | "target"> {
  readonly name: string
  readonly target: string
}

async function* entriesOf(source: ByteSource): AsyncGenerator<Entry, void, undefined> {
  try {
    for await (const { name, target, ...entry } of tarEntries(source))
      yield { ...entry, name: nameOfBytes(name), target: nameOfBytes(target) }
  } catch (thrown) {
    throw withoutTarFault(thrown)
  }
}

class ConnectionFailure extends Error {}

/** The body's pieces; its failure told apart from those of files. */
async function* partsOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array, void, undefined> {
  if (body === null) return
  try {
    yield* readAhead(body)
  } catch (cause) {
    throw new ConnectionFailure("The connection was lost.", { cause })
  }
}

const isThere = (thrown: unknown, code: string): boolean =>
  thrown instanceof Error && "code" in thrown && thrown.code === code

class Unpacking {
  readonly #source: ByteSource
  readonly #root: LocalPath
  readonly #options: DownloadOptions
  readonly #leftOut: Array<string> = []
  /** Of directories: what is put into one afterwards changes its time, and its mode may forbid that. */
  readonly #delayed = new Map<string, Entry>()
  /** The directory that was last found to be one, with all above it. */
  #known = ""
  #entries = 0
  #bytes = 0
  #temporary = 0

  constructor(source: ByteSource, root: LocalPath, options: DownloadOptions) {
    this.#source = source
    this.#root = root
    this.#options = options
  }

  async run(): Promise<DirectoryTransfer> {
    await mkdir(this.#root, { recursive: true })
    try {
      for await (const entry of entriesOf(this.#source)) {
        this.#options.signal?.throwIfAborted()
        await this.#take(entry)
      }
    } finally {
      for (const path of [...this.#delayed.keys()].reverse()) await this.#attribute(path)
    }
    // To the end of the answer: a connection that is lost there was not whole either.
    while ((await this.#source.some(pieceBytes)) !== null) this.#count()
    return { entries: this.#entries, bytes: this.#bytes, leftOut: this.#leftOut }
  }

  async #take(entry: Entry): Promise<void> {
    this.#count()
    const components = componentsOf(entry.name)
    const path = components.join("/")
    const isWanted = components.length > 0 && (this.#options.filter === undefined || this.#isWanted(components))
    const after = this.#source.taken + entry.size + paddingOf(entry.size)
    if (isWanted) {
      const isDone = await this.#put(entry, components)
      if (isDone) this.#entries++
      else if (this.#leftOut.length < leftOutMax) this.#leftOut.push(path)
      if (isDone) this.#tell(path)
    }
    if (!(await this.#source.skip(after - this.#source.taken))) throw new ArchiveCut()
  }

  /** What is in a directory that was left out is left out. */
  #isWanted(components: ReadonlyArray<string>): boolean {
    return components.every((_, at) => this.#options.filter!(components.slice(0, at + 1).join("/")))
  }

  /** False: it is left out. */
  async #put(entry: Entry, components: ReadonlyArray<string>): Promise<boolean> {
    const path = components.join("/")
    if (!components.every(canBeNamed)) return false
    switch (entry.kind) {
      case "directory":
        await this.#directory(components)
        // Its owner may work in it until all is done.
        await chmod(this.#place(components), entry.mode | 0o700)
        this.#delayed.delete(path)
        this.#delayed.set(path, entry)
        if (this.#delayed.size > delayedMax) await this.#attribute(this.#delayed.keys().next().value!)
        return true
      case "file":
        await this.#file(entry, components)
        return true
      case "symlink": {
        if (!staysInside(entry.target, components.length - 1)) return false
        await this.#replace(components, async (temporary) => {
          await symlink(ownName(entry.target), temporary)
          await lutimes(temporary, timeOf(entry.mtime), timeOf(entry.mtime))
        })
        return true
      }
      case "hardLink": {
        const first = componentsOf(entry.target)
        // The first name was left out, or never came.
        if (first.length === 0 || !(await this.#isFile(first))) return false
        await this.#replace(components, (temporary) => link(this.#place(first), temporary))
        return true
      }
      case "other":
        return false
    }
  }

  async #file({ mode, mtime, size }: Entry, components: ReadonlyArray<string>): Promise<void> {
    await this.#replace(components, async (temporary) => {
      const file = await open(temporary, "wx", 0o600)
      try {
        for (let left = size; left > 0; ) {
          const part = await this.#source.some(Math.min(left, pieceBytes))
          if (part === null) throw new ArchiveCut()
          await file.writeFile(part)
          left -= part.length
          this.#bytes += part.length
          this.#count()
          if (left > 0) this.#tell(components.join("/"))
        }
        await file.chmod(mode)
        await file.utimes(timeOf(mtime), timeOf(mtime))
      } finally {
        await file.close()
      }
    })
  }

  /** Makes something under a temporary name beside the place, and puts it there at once. */
  async #replace(components: ReadonlyArray<string>, make: (temporary: LocalPath) => Promise<void>): Promise<void> {
    await this.#directory(components.slice(0, -1))
    const place = this.#place(components)
    const name = `.atoll-${process.pid}-${Date.now()}-${this.#temporary++}`
    const temporary = this.#place([...components.slice(0, -1), name])
    try {
      await make(temporary)
      await rename(temporary, place)
      // Two names of one file stay two, and one of them is the temporary one.
      await rm(temporary, { force: true })
    } catch (thrown) {
      await rm(temporary, { force: true })
      throw isThere(thrown, "EISDIR") ? inTheWay(place) : thrown
    }
  }

  /** Makes the directories of a way where they are missing. What is there must be directories, and no links to some. */
  async #directory(components: ReadonlyArray<string>): Promise<void> {
    const path = components.join("/")
    if (path === this.#known) return
    let at = this.#root
    for (const component of components) {
      at = within(at, ownName(component))
      try {
        await mkdir(at)
      } catch (thrown) {
        if (!isThere(thrown, "EEXIST")) throw thrown
        if (!(await lstat(at)).isDirectory()) throw inTheWay(at)
      }
    }
    this.#known = path
  }

  async #isFile(components: ReadonlyArray<string>): Promise<boolean> {
    let at = this.#root
    for (const [index, component] of components.entries()) {
      at = within(at, ownName(component))
      const found = await lstat(at).catch(() => null)
      if (found === null || (index < components.length - 1 ? !found.isDirectory() : !found.isFile())) return false
    }
    return true
  }

  async #attribute(path: string): Promise<void> {
    const { mode, mtime } = this.#delayed.get(path)!
    this.#delayed.delete(path)
    const at = this.#place(path.split("/"))
    await utimes(at, timeOf(mtime), timeOf(mtime))
    await chmod(at, mode)
  }

  #place(components: ReadonlyArray<string>): LocalPath {
    return components.reduce<LocalPath>((at, component) => within(at, ownName(component)), this.#root)
  }

  #tell(path: string): void {
    this.#options.onProgress?.({ entries: this.#entries, bytes: this.#bytes, path })
  }

  #count(): void {
    const { maxBytes } = this.#options
    if (maxBytes !== undefined && this.#source.taken > maxBytes) {
      throw new RangeError(`The directory is larger than maxBytes, ${maxBytes}.`)
    }
  }
}

const inTheWay = (path: LocalPath) =>
  new Error(`${path} is in the way: something of another kind is there, and is not replaced or followed.`)

/** Of a name in an archive; none for the directory itself. */
const componentsOf = (name: string): ReadonlyArray<string> => {
  const components = name.split("/").filter((component) => component !== "" && component !== ".")
  const isWindows = process.platform === "win32"
  if (name.startsWith("/") || components.includes("..") || name.includes("\0") || (isWindows && /[\\:]/.test(name))) {
    throw broken("a name leads out of the directory")
  }
  return components
}

/**
 * Whether a symbolic link in a directory so deep below the root stays below it: it climbs only at its beginning, where all above it are
 * directories, and whatever it goes through after that is a directory, or a link that stays inside.
 */
export const staysInside = (target: string, depth: number): boolean => {
  if (target === "" || target.startsWith("/") || target.includes("\0")) return false
  if (process.platform === "win32" && /[\\:]/.test(target)) return false
  const components = target.split("/").filter((component) => component !== "" && component !== ".")
  const climbs = components.findIndex((component) => component !== "..")
  const ups = climbs === -1 ? components.length : climbs
  return ups <= depth && !components.slice(ups).includes("..")
}
