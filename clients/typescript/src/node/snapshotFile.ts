/// <reference types="node" />
/** Files of snapshots on this machine. */
import { open, rename, rm, stat } from "node:fs/promises"
import { ConnectionError } from "../errors.ts"
import { readAhead } from "../http/readAhead.ts"
import type { Transport } from "../http/Transport.ts"

const pieceBytes = 1024 * 1024
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

/** The file for one attempt each time. What this machine fails with is in `failure`. */
export const snapshotContent = async (path: string) => {
  if (!(await stat(path)).isFile()) throw new TypeError(`${path} is not a file.`)
  const read: { failure: unknown } = { failure: null }
  const body = () => {
    const pieces = piecesOf(path)
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          try {
            const { done, value } = await pieces.next()
            if (done === true) controller.close()
            else controller.enqueue(value)
          } catch (thrown) {
            read.failure = thrown
            controller.error(thrown)
          }
        },
        cancel: async () => void (await pieces.return())
      },
      { highWaterMark: 0 }
    )
  }
  return { body, read }
}

async function* piecesOf(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  const file = await open(path, "r")
  try {
    while (true) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(pieceBytes), 0, pieceBytes)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}
