/** Archives, compressed and not. Both sides are taken as they are needed, so neither lies here whole. */
import { pipeline } from "node:stream/promises"
import zlib from "node:zlib"
import { errnoOf } from "../FileRefusal.ts"
import { malformed, truncated } from "./ArchiveFault.ts"

export type Encoding = "identity" | "gzip"

const pieceBytes = 256 * 1024

/** What `through` makes of `content`, whose failure is this one's too. */
async function* passed(
  content: AsyncIterable<Uint8Array>,
  through: zlib.Gzip | zlib.Gunzip
): AsyncGenerator<Uint8Array> {
  // Whoever takes the pieces hears of a failure as well.
  const feeding = pipeline(content, through).catch(() => {})
  try {
    for await (const piece of through as AsyncIterable<Uint8Array>) yield piece
  } finally {
    through.destroy()
    await feeding
  }
}

/** Fast and not small: its CPU time is the Sandbox's. */
export const gzipped = (content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> =>
  passed(content, zlib.createGzip({ level: zlib.constants.Z_BEST_SPEED, chunkSize: pieceBytes }))

/** Throws an ArchiveFault for what is not gzip, or not all of it. */
export async function* gunzipped(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* passed(content, zlib.createGunzip({ chunkSize: pieceBytes }))
  } catch (cause) {
    const code = errnoOf(cause) ?? ""
    if (code === "Z_BUF_ERROR") throw truncated()
    throw code.startsWith("Z_") ? malformed("what is said to be compressed by gzip is not") : cause
  }
}
