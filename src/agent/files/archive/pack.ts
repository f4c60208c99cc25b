/**
 * Packs a directory as a tar archive, as a stream: entries under their names below it, depth first, in the file system's own order.
 *
 * Directories are entered with `O_NOFOLLOW`, so no link leads outside. The archive omits entries on another mount, entries that the Sandbox's user
 * may not read, fifos, sockets and devices. A file has the size that it had when it was opened; a file that is truncated while it is read ends the
 * archive with an error.
 */
import fs from "node:fs"
import { setImmediate as turn } from "node:timers/promises"
import { promisify } from "node:util"
import { blockBytes, entryTypes, paddingOf, writeHeader } from "../../../platform/tar/tarHeader.ts"
import { errnoOf, FileRefusal, refusalFor } from "../FileRefusal.ts"
import { archiveLinksMaxBytes, archiveNamesMaxBytes } from "../limits.ts"
import { NameList } from "../NameList.ts"
import { at, Held, held, O_PATH, stagingName, type Workspace } from "../Workspace.ts"

const readFrom = promisify(fs.read)

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = fs.constants

/** Small entries are gathered into pieces of this size. */
const pieceBytes = 256 * 1024
/** Files up to this size are read in one go, so their content is as long as their header says. */
const smallBytes = 64 * 1024
/** Entries per slice between other calls: some milliseconds. */
const sliceEntries = 64
const namesAtOnce = 1024

/** Removed since its directory was read, not a link any more, or not readable for the Sandbox's user. */
const leftOut: ReadonlySet<string> = new Set(["ENOENT", "EINVAL", "EACCES", "EPERM"])

const nothing = Buffer.alloc(0)
const bytesOf = (byteString: string): Buffer => (byteString === "" ? nothing : Buffer.from(byteString, "latin1"))

/** The file system's own directory at the top of a volume. */
const lostAndFound = "lost+found"

/** Fails before the first byte when the path is not a directory. */
export const openToPack = (workspace: Workspace, path: string): Held => {
  const { file, place } = workspace.open(path, "directory")
  place[Symbol.dispose]()
  return file
}

/** Takes ownership of `top`. The caller may keep the pieces. */
export async function* pack(workspace: Workspace, top: Held): AsyncGenerator<Buffer> {
  const packing = new Packing(workspace, top)
  try {
    yield* packing.pieces()
  } catch (cause) {
    throw refusalFor(cause)
  } finally {
    packing[Symbol.dispose]()
  }
}

interface Level {
  readonly directory: Held
  /** The prefix of all names in it: empty at the top, otherwise it ends with a slash. */
  readonly prefix: string
  readonly names: NameList
  next: number
}

/** A file's second name is packed as a link to its first. */
interface LinkedFiles {
  readonly names: Map<bigint, string>
  bytes: number
}

class Packing implements Disposable {
  readonly #workspace: Workspace
  readonly #way: Array<Level> = []
  readonly #linked: LinkedFiles = { names: new Map(), bytes: 0 }
  #gathered = Buffer.allocUnsafeSlow(pieceBytes)
  #gatheredBytes = 0
  #heldBytes = 0

  constructor(workspace: Workspace, top: Held) {
    this.#workspace = workspace
    try {
      this.#descend(top, "", workspace.isRoot(top.descriptor))
    } catch (cause) {
      top[Symbol.dispose]()
      throw cause
    }
  }

  async *pieces(): AsyncGenerator<Buffer> {
    for (let entries = 1; ; entries += 1) {
      const level = this.#way.at(-1)
      if (level === undefined) break
      if (level.next === level.names.length) {
        this.#ascend()
        continue
      }
      const name = level.names.at(level.next)
      level.next += 1
      yield* this.#entry(level, name)
      if (entries % sliceEntries === 0) await turn()
    }
    // Two blocks of zeros end an archive.
    yield* this.#gather(Buffer.alloc(2 * blockBytes))
    yield this.#gathered.subarray(0, this.#gatheredBytes)
  }

  async *#entry({ directory, prefix }: Level, name: string): AsyncGenerator<Buffer> {
    const path = at(directory.descriptor, name)
    const full = `${prefix}${name}`
    try {
      using named = new Held(fs.openSync(path, O_PATH | O_NOFOLLOW))
      const stat = fs.fstatSync(named.descriptor, { bigint: true })
      const isKept = stat.isFile() || stat.isDirectory() || stat.isSymbolicLink()
      if (!isKept || !this.#isOnThisMount(named)) return
      const mtime = Math.floor(Number(stat.mtimeMs) / 1000)
      const mode = Number(stat.mode) & 0o777
      const header = (type: string, name: string, size: number, target = "") =>
        writeHeader({ name: bytesOf(name), target: bytesOf(target), mode, size, mtime, type })
      if (stat.isDirectory()) {
        const opened = new Held(fs.openSync(held(named.descriptor), O_RDONLY | O_DIRECTORY))
        try {
          this.#descend(opened, `${full}/`, false)
        } catch (cause) {
          opened[Symbol.dispose]()
          throw cause
        }
        yield* this.#gather(header(entryTypes.directory, `${full}/`, 0))
        return
      }
      const first = stat.nlink > 1n ? this.#linked.names.get(stat.ino) : undefined
      if (first !== undefined) {
        yield* this.#gather(header(entryTypes.hardLink, full, 0, first))
        return
      }
      if (stat.nlink > 1n) this.#remember(stat.ino, full)
      if (stat.isSymbolicLink()) {
        yield* this.#gather(header(entryTypes.symlink, full, 0, fs.readlinkSync(path, "latin1")))
        return
      }
      using file = new Held(fs.openSync(held(named.descriptor), O_RDONLY | O_NONBLOCK))
      yield* this.#file(file, (size) => header(entryTypes.file, full, size))
    } catch (cause) {
      if (!leftOut.has(errnoOf(cause) ?? "")) throw cause
    }
  }

  async *#file(file: Held, header: (size: number) => Uint8Array): AsyncGenerator<Buffer> {
    const size = fs.fstatSync(file.descriptor).size
    if (size <= smallBytes) {
      const content = Buffer.allocUnsafe(size)
      let read = 0
      for (let bytes = -1; read < size && bytes !== 0; read += bytes) {
        bytes = fs.readSync(file.descriptor, content, read, size - read, read)
      }
      yield* this.#gather(header(read))
      yield* this.#gather(content.subarray(0, read))
      yield* this.#gather(Buffer.alloc(paddingOf(read)))
      return
    }
    yield* this.#gather(header(size))
    for (let left = size; left > 0; ) {
      const into = this.#gathered
      const room = Math.min(left, into.byteLength - this.#gatheredBytes)
      const { bytesRead } = await readFrom(file.descriptor, into, this.#gatheredBytes, room, size - left)
      if (bytesRead === 0) throw new FileRefusal("NOT_FOUND", "A file was cut while it was being read.")
      left -= bytesRead
      this.#gatheredBytes += bytesRead
      if (this.#gatheredBytes === into.byteLength) yield this.#takeGathered()
    }
    yield* this.#gather(Buffer.alloc(paddingOf(size)))
  }

  *#gather(bytes: Uint8Array): Generator<Buffer> {
    for (let rest = bytes; rest.byteLength > 0; ) {
      const taken = rest.subarray(0, this.#gathered.byteLength - this.#gatheredBytes)
      this.#gathered.set(taken, this.#gatheredBytes)
      this.#gatheredBytes += taken.byteLength
      rest = rest.subarray(taken.byteLength)
      if (this.#gatheredBytes === this.#gathered.byteLength) yield this.#takeGathered()
    }
  }

  #takeGathered(): Buffer {
    const full = this.#gathered
    this.#gathered = Buffer.allocUnsafeSlow(pieceBytes)
    this.#gatheredBytes = 0
    return full
  }

  /** Takes ownership of `directory` once it returns. */
  #descend(directory: Held, prefix: string, isRoot: boolean): void {
    const dir = fs.opendirSync(held(directory.descriptor), { encoding: "latin1", bufferSize: namesAtOnce })
    const names = new NameList()
    try {
      for (let entry = dir.readSync(); entry !== null; entry = dir.readSync()) {
        if (isRoot && (entry.name === stagingName || entry.name === lostAndFound)) continue
        names.push(entry.name)
        if (this.#heldBytes + names.heldBytes > archiveNamesMaxBytes) {
          throw new FileRefusal("PAYLOAD_TOO_LARGE", "A directory has too many entries to be packed.", {
            limitBytes: archiveNamesMaxBytes
          })
        }
      }
    } finally {
      dir.closeSync()
    }
    this.#heldBytes += names.heldBytes
    this.#way.push({ directory, prefix, names, next: 0 })
  }

  #ascend(): void {
    const { directory, names } = this.#way.pop()!
    this.#heldBytes -= names.heldBytes
    directory[Symbol.dispose]()
  }

  #isOnThisMount(named: Held): boolean {
    try {
      this.#workspace.sameMount(named.descriptor)
      return true
    } catch (cause) {
      if (cause instanceof FileRefusal) return false
      throw cause
    }
  }

  #remember(ino: bigint, name: string): void {
    const bytes = name.length + 128
    if (this.#linked.bytes + bytes > archiveLinksMaxBytes) return
    this.#linked.names.set(ino, name)
    this.#linked.bytes += bytes
  }

  [Symbol.dispose](): void {
    while (this.#way.length > 0) this.#ascend()
  }
}
