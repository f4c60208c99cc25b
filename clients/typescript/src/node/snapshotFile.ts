/// <reference types="node" />
/** Files of snapshots on this machine. */
import { open, rename, rm } from "node:fs/promises"
import { ConnectionError } from "../errors.ts"
import { readAhead } from "../http/readAhead.ts"
import type { Transport } from "../http/Transport.ts"

/** How often a download that brings nothing is continued. */
const fruitlessMax = 5

/**
 * Writes the whole file beside its place, and then puts it there. A lost connection is continued at its last byte, or begun again where the service
 * makes another file by now.
 */
export const saveSnapshot = async (
  transport: Transport,
  id: string,
  path: string,
  signal: AbortSignal | undefined
): Promise<{ readonly bytes: number }> => {
  const beside = `${path}.atoll-${process.pid}-${Date.now()}`
  const file = await open(beside, "wx", 0o600)
  try {
    let offset = 0
    let tag: string | null = null
    for (let fruitless = 0; ; ) {
      const answer = await transport.open("exportSnapshot", { parameters: { id, offset }, signal })
      const present = answer.headers.get("etag")
      if (offset > 0 && present !== tag) {
        await answer.body?.cancel()
        await file.truncate(0)
        offset = 0
        tag = null
        continue
      }
      tag = present
      const before = offset
      try {
        for await (const piece of connected(answer.body)) {
          await file.write(piece, 0, piece.length, offset)
          offset += piece.length
        }
        break
      } catch (thrown) {
        signal?.throwIfAborted()
        if (!(thrown instanceof ConnectionError)) throw thrown
        fruitless = offset > before ? 0 : fruitless + 1
        if (fruitless === fruitlessMax) throw thrown
      }
    }
    await file.sync()
    await file.close()
    await rename(beside, path)
    return { bytes: offset }
  } catch (thrown) {
    await file.close().catch(() => {})
    await rm(beside, { force: true })
    throw thrown
  }
}

/** The body's pieces; its failure told apart from those of files. */
async function* connected(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array, void, undefined> {
  if (body === null) return
  try {
    yield* readAhead(body)
  } catch (cause) {
    throw new ConnectionError("The connection was lost.", "notApplied", cause)
  }
}
