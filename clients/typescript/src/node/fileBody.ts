/// <reference types="node" />
/** A file of this machine as the body of a request. */
import { open, stat } from "node:fs/promises"
import { piecesBody } from "./piecesBody.ts"

const pieceBytes = 1024 * 1024

/** The file for one attempt each time. What this machine fails with is in `failure`. */
export const fileBody = async (path: string) => {
  if (!(await stat(path)).isFile()) throw new TypeError(`${path} is not a file.`)
  const read: { failure: unknown } = { failure: null }
  const body = () =>
    piecesBody(piecesOf(path), (thrown) => {
      read.failure = thrown
    })
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
