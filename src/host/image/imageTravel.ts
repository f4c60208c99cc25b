/**
 * An image on its way to another host: u32le length, that many bytes of JSON (`Head`), and the file system of the image.
 *
 * A fleet's hosts believe each other's images, which their kernels mount: the sender made this one of an archive that it checked.
 */
import { createReadStream } from "node:fs"
import { open } from "node:fs/promises"
import { Option, Schema } from "effect"
import { ByteQueue } from "../../runtime/ByteQueue.ts"
import type { PulledImage } from "../../runtime/Runtime.ts"
import { MANIFEST_MAX_BYTES } from "./imageBlobs.ts"
import { architectureOf } from "./imageManifest.ts"
import { invalid, otherArchitecture, tooLarge } from "./imageRefusals.ts"
import type { SandboxUser } from "./sandboxPlaces.ts"

const LENGTH_BYTES = 4
/** The configuration of an image, with characters escaped. */
const HEAD_MAX_BYTES = 2 * MANIFEST_MAX_BYTES
/** At the begin of a SquashFS: "hsqs". */
const MAGIC = Buffer.from("hsqs")
/** Room is taken in steps. */
const ROOM_STEP_BYTES = 64 * 1024 ** 2

const Head = Schema.fromJsonString(
  Schema.Struct({
    sizeBytes: Schema.Int,
    config: Schema.Struct({
      env: Schema.Record(Schema.String, Schema.String),
      workingDir: Schema.NullOr(Schema.String)
    }),
    architecture: Schema.String,
    /** The image names it in its list of users. */
    user: Schema.Struct({ name: Schema.String, uid: Schema.Int })
  })
)
const encodeHead = Schema.encodeSync(Head)
const decodeHead = Schema.decodeOption(Head)

type Arrived = Pick<PulledImage, "sizeBytes" | "config">

export async function* leaving(
  path: string,
  { sizeBytes, config }: Arrived,
  user: SandboxUser
): AsyncGenerator<Uint8Array> {
  const head = Buffer.from(encodeHead({ sizeBytes, config, architecture: architectureOf(process.arch), user }))
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32LE(head.length)
  yield Buffer.concat([length, head])
  yield* createReadStream(path, { highWaterMark: 1024 ** 2 }) as AsyncIterable<Buffer>
}

interface ArrivingOptions {
  readonly user: SandboxUser
  readonly maxBytes: number
  /** Takes room on the disk for a file that grows to so many bytes. Rejects where there is none. */
  readonly room: (path: string, bytes: number) => Promise<void>
}

/** Writes the file system to `path`, and returns what belongs to it. */
export const arriving = async (
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  { user, maxBytes, room }: ArrivingOptions
): Promise<Arrived> => {
  const input = new ByteQueue(buffers(pieces))
  try {
    const record = await readHead(input, user)
    const file = await open(path, "w", 0o600)
    try {
      let bytes = 0
      let taken = 0
      for await (const piece of wholePieces(input)) {
        bytes += piece.length
        if (bytes > maxBytes) throw tooLarge(maxBytes)
        if (bytes > taken) {
          taken = bytes + ROOM_STEP_BYTES
          await room(path, taken)
        }
        for (let at = 0; at < piece.length; ) at += (await file.write(piece, at)).bytesWritten
      }
    } finally {
      await file.close()
    }
    return record
  } finally {
    await input.release()
  }
}

const readHead = async (input: ByteQueue, user: SandboxUser): Promise<Arrived> => {
  const length = (await input.take(LENGTH_BYTES))?.readUInt32LE() ?? 0
  if (length === 0 || length > HEAD_MAX_BYTES) throw invalid()
  const json = await input.take(length)
  const head = json === null ? null : Option.getOrNull(decodeHead(json.toString("utf8")))
  if (head === null) throw invalid()
  const { architecture, user: named, ...record } = head
  if (architecture !== architectureOf(process.arch) || named.name !== user.name || named.uid !== user.uid) {
    throw otherArchitecture()
  }
  return record
}

async function* wholePieces(input: ByteQueue): AsyncGenerator<Buffer> {
  const magic = await input.take(MAGIC.length)
  if (magic === null || !magic.equals(MAGIC)) throw invalid()
  yield magic
  yield* input.rest(() => {})
}

async function* buffers(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const { buffer, byteOffset, byteLength } of pieces) yield Buffer.from(buffer, byteOffset, byteLength)
}
