/**
 * Writes and reads archives: a line that identifies the format, then frames, compressed with zstd.
 *
 *     frame    u8 kind, u32le length, that many bytes
 *     header   JSON, `ArchiveHeader`: once, before the tables
 *     table    JSON, {name, columns}: the rows after it are this table's
 *     rows     JSON, the rows as text of Postgres' composite types
 *     volume   JSON, `ArchivedVolume`: the pieces after it are this volume's
 *     piece    u64le offset, the bytes there; a later piece may replace them; all other ranges are holes
 *     again    JSON, `ArchivedAgain`: the pieces after it are also this volume's
 *     gone     JSON, `ArchivedAgain`: this volume was deleted meanwhile
 *     snapshot JSON, `ArchivedSnapshot`: the pieces after it are this snapshot's
 *     end      JSON, `ArchiveEnd`: the last frame, with the SHA-256 of all before it
 *
 * Formats 1 and 2 can also be read. They have no `snapshot`. Format 1 has no `again` and no `gone`, and its header comes first. In the current
 * format images come before the header, because they are read while they are written to.
 */
import { createHash } from "node:crypto"
import { once } from "node:events"
import { createReadStream, createWriteStream, existsSync, type ReadStream, type WriteStream } from "node:fs"
import { link, open, rename, rm, writeFile } from "node:fs/promises"
import { dirname } from "node:path"
import { finished } from "node:stream/promises"
import { constants, createZstdCompress, createZstdDecompress } from "node:zlib"
import { Schema } from "effect"
import { SnapshotRecord } from "../../host/linux/SnapshotStore.ts"
import { FileLock } from "../../platform/fileLock/FileLock.ts"
import { ArchiveUnusable } from "./ArchiveUnusable.ts"

const magic = Buffer.from("atoll backup 3\n")
/** Equally long for all formats. */
const anyMagic = /^atoll backup (\d{1,6})\n/
/** The largest valid frame. */
const frameMaxBytes = 64 * 1024 ** 2

const kinds = ["header", "table", "rows", "volume", "piece", "end", "again", "gone", "snapshot"] as const
type Kind = (typeof kinds)[number]

export interface Frame {
  readonly kind: Kind
  readonly bytes: Buffer
}

export const ArchiveHeader = Schema.Struct({
  /** Epoch milliseconds of the database's snapshot. */
  takenAt: Schema.Int,
  /** The database's schema: the migrations that made it. */
  steps: Schema.Array(Schema.Int),
  /** The runtime driver of its Sandboxes; null before the first. */
  driver: Schema.NullOr(Schema.String)
})
export type ArchiveHeader = typeof ArchiveHeader.Type

export const ArchivedTable = Schema.Struct({ name: Schema.String, columns: Schema.Array(Schema.String) })

export const ArchivedVolume = Schema.Struct({
  sandboxId: Schema.String,
  driver: Schema.Literals(["namespace", "qemu"]),
  /** An image, in pieces by their offsets; or the folder `volume` as tar, in consecutive pieces. */
  form: Schema.Literals(["image", "tree"]),
  /** The size of the whole image; 0 for a tree. */
  bytes: Schema.Int,
  /** The driver's record of it, as JSON. */
  record: Schema.Unknown
})
export type ArchivedVolume = typeof ArchivedVolume.Type

export const ArchivedAgain = Schema.Struct({ sandboxId: Schema.String, driver: Schema.Literals(["namespace", "qemu"]) })

export const ArchivedSnapshot = Schema.Struct({
  snapshotId: Schema.String,
  driver: Schema.Literals(["namespace", "qemu"]),
  /** The size of the whole image. */
  bytes: Schema.Int,
  record: SnapshotRecord
})
export type ArchivedSnapshot = typeof ArchivedSnapshot.Type

export const ArchiveEnd = Schema.Struct({
  sha256: Schema.String,
  rows: Schema.Int,
  /** The bytes of all `rows` frames. */
  rowBytes: Schema.Int,
  volumes: Schema.Int,
  /** Absent in formats that have none. */
  snapshots: Schema.optionalKey(Schema.Int),
  /** The bytes of all pieces. */
  pieceBytes: Schema.Int
})
export type ArchiveEnd = typeof ArchiveEnd.Type

const partialOf = (path: string): string => `${path}.partial`

const cannotBeMade = (path: string, cause: unknown) => {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === "EEXIST") {
    return new ArchiveUnusable({ message: `${path} exists already. Name another file, or remove it.` })
  }
  return new ArchiveUnusable({ message: `${path} cannot be made: ${message}.` })
}

/** Writes to `PATH.partial`, which is renamed to PATH once all of it is on the disk. A killed backup leaves the partial file, and the next one reuses it. */
export class ArchiveWriter {
  private readonly path: string
  private readonly lock: FileLock
  private readonly digest = createHash("sha256")
  private readonly zstd = createZstdCompress({
    params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 }
  })
  private readonly file: WriteStream
  private readonly done: Promise<void>
  private fault: unknown = null
  readonly counts = { rows: 0, rowBytes: 0, volumes: 0, snapshots: 0, pieceBytes: 0 }

  private constructor(path: string, lock: FileLock) {
    this.path = path
    this.lock = lock
    this.file = createWriteStream(partialOf(path), { flags: "r+", start: magic.length })
    this.done = finished(this.zstd.pipe(this.file))
    this.done.catch((fault: unknown) => {
      this.fault = fault
      this.zstd.destroy()
    })
    this.zstd.on("error", () => {})
  }

  /** The file must not exist; only Atoll's user may read it. */
  static async make(path: string): Promise<ArchiveWriter> {
    if (existsSync(path)) throw cannotBeMade(path, { code: "EEXIST" })
    const lock = await FileLock.open(partialOf(path)).catch((cause) => Promise.reject(cannotBeMade(path, cause)))
    try {
      if (!(await lock.exclusive(0))) {
        throw new ArchiveUnusable({ message: `Another backup is writing ${path} just now.` })
      }
      await writeFile(partialOf(path), magic)
    } catch (cause) {
      await lock.close()
      throw cause instanceof ArchiveUnusable ? cause : cannotBeMade(path, cause)
    }
    return new ArchiveWriter(path, lock)
  }

  async write(kind: Kind, bytes: Buffer): Promise<void> {
    if (this.fault !== null) throw this.fault
    const head = Buffer.alloc(5)
    head.writeUInt8(kinds.indexOf(kind), 0)
    head.writeUInt32LE(bytes.length, 1)
    for (const part of [head, bytes]) {
      if (kind !== "end") this.digest.update(part)
      if (!this.zstd.write(part)) await Promise.race([once(this.zstd, "drain"), this.done])
    }
  }

  json(kind: Kind, value: unknown): Promise<void> {
    return this.write(kind, Buffer.from(JSON.stringify(value)))
  }

  /** Resolves when the whole archive is on the disk under its name. */
  async end(): Promise<void> {
    const end: ArchiveEnd = { sha256: this.digest.copy().digest("hex"), ...this.counts }
    await this.json("end", end)
    this.zstd.end()
    await this.done
    await onDisk(partialOf(this.path))
    await named(partialOf(this.path), this.path)
    await onDisk(dirname(this.path))
    await this.lock.close()
  }

  /** Removes the partial archive. */
  async discard(): Promise<void> {
    this.zstd.destroy()
    this.file.destroy()
    await this.done.catch(() => {})
    await rm(partialOf(this.path), { force: true })
    await this.lock.close()
  }
}

/** Gives a file another name, which must be free. */
const named = async (from: string, to: string): Promise<void> => {
  try {
    await link(from, to)
    await rm(from)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const hasLinks = code !== "EPERM" && code !== "ENOTSUP" && code !== "ENOSYS"
    if (hasLinks || existsSync(to)) throw cannotBeMade(to, cause)
    await rename(from, to)
  }
}

const onDisk = async (path: string): Promise<void> => {
  const file = await open(path, "r")
  await file.sync()
  await file.close()
}

const broken = (path: string, how: string) =>
  new ArchiveUnusable({ message: `${path} is not whole: ${how}. Nothing was restored; take another copy of it.` })

const formatOf = async (path: string): Promise<string | undefined> => {
  const file = await open(path, "r")
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(32), 0, 32, 0)
    return anyMagic.exec(buffer.toString("latin1", 0, bytesRead))?.[1]
  } finally {
    await file.close()
  }
}

/** Whether it begins like an archive, of any format. */
export const isArchive = async (path: string): Promise<boolean> => (await formatOf(path)) !== undefined

const openChecked = async (path: string): Promise<ReadStream> => {
  const format = await formatOf(path).catch((cause: Error) => {
    throw new ArchiveUnusable({ message: `${path} cannot be read: ${cause.message}.` })
  })
  if (format === undefined) throw new ArchiveUnusable({ message: `${path} is no backup of Atoll.` })
  if (format !== "1" && format !== "2" && format !== "3") {
    throw new ArchiveUnusable({
      message: `${path} was written by a newer Atoll (format ${format}); restore it with that.`
    })
  }
  return createReadStream(path, { start: magic.length, highWaterMark: 1024 ** 2 })
}

/**
 * Yields every frame except the end, in order. Throws ArchiveUnusable when the archive is damaged. @param note Receives the number of compressed
 * bytes read so far.
 */
export async function* framesOf(
  path: string,
  note: (bytes: number) => void = () => {}
): AsyncGenerator<Frame, ArchiveEnd> {
  const source = await openChecked(path)
  const zstd = createZstdDecompress()
  source.on("error", (fault) => zstd.destroy(fault))
  source.pipe(zstd)
  const digest = createHash("sha256")
  let held: Array<Buffer> = []
  let heldBytes = 0
  let wanted = 5
  let kind: Kind | null = null
  let end: ArchiveEnd | null = null
  try {
    for await (const chunk of zstd as AsyncIterable<Buffer>) {
      held.push(chunk)
      heldBytes += chunk.length
      note(source.bytesRead)
      while (heldBytes >= wanted) {
        const all = held.length === 1 ? held[0]! : Buffer.concat(held)
        const bytes = all.subarray(0, wanted)
        held = [all.subarray(wanted)]
        heldBytes -= wanted
        if (end !== null) throw broken(path, "there is data after its end")
        if (kind === null) {
          kind = kinds[bytes.readUInt8(0)] ?? null
          const length = bytes.readUInt32LE(1)
          if (kind === null || length > frameMaxBytes) throw broken(path, "it has an invalid frame")
          if (kind !== "end") digest.update(bytes)
          wanted = length
          continue
        }
        if (kind === "end") {
          end = Schema.decodeUnknownSync(ArchiveEnd)(JSON.parse(bytes.toString()))
          if (end.sha256 !== digest.digest("hex")) throw broken(path, "its checksum is wrong")
        } else {
          digest.update(bytes)
          yield { kind, bytes }
        }
        kind = null
        wanted = 5
      }
    }
  } catch (cause) {
    if (cause instanceof ArchiveUnusable) throw cause
    throw broken(path, cause instanceof Error ? cause.message : String(cause))
  } finally {
    source.destroy()
    zstd.destroy()
  }
  if (end === null || heldBytes > 0) throw broken(path, "it ends too soon")
  return end
}
