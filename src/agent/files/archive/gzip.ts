/** Compresses and decompresses archives as streams, so that neither side is ever held whole. */
import { pipeline } from "node:stream/promises"
import zlib from "node:zlib"
import { errnoOf } from "../FileRefusal.ts"
import { malformed, truncated } from "./ArchiveFault.ts"

export type Encoding = "identity" | "gzip"

const pieceBytes = 256 * 1024

/** Passes `content` through a transform. A failure of `content` becomes a failure of the result. */
async function* passed(
  content: AsyncIterable<Uint8Array>,
  through: zlib.Gzip | zlib.Gunzip
): AsyncGenerator<Uint8Array> {
  // The consumer of the pieces gets the failure as well.
  const feeding = pipeline(content, through).catch(() => {})
  try {
    for await (const piece of through as AsyncIterable<Uint8Array>) yield piece
  } finally {
    through.destroy()
    await feeding
  }
}

/** Fast rather than small, because it uses the Sandbox's CPU time. */
export const gzipped = (content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> =>
  passed(content, zlib.createGzip({ level: zlib.constants.Z_BEST_SPEED, chunkSize: pieceBytes }))

/** Throws an ArchiveFault for input that is not gzip, or incomplete. */
export async function* gunzipped(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* passed(content, zlib.createGunzip({ chunkSize: pieceBytes }))
  } catch (cause) {
    const code = errnoOf(cause) ?? ""
    if (code === "Z_BUF_ERROR") throw truncated()
    throw code.startsWith("Z_") ? malformed("what is said to be compressed by gzip is not") : cause
  }
}
