/**
 * A socket on which what a driver starts will listen: made by the driver in a folder that only the service can use, and inherited.
 *
 * So nobody can put another socket, or a link to one of the host's, in its place; and it lives exactly as long as who inherited it.
 */
import { randomBytes } from "node:crypto"
import { closeSync, openSync, renameSync, rmSync } from "node:fs"
import { createServer, type Server } from "node:net"
import { basename, dirname, join } from "node:path"

/** sun_path holds 107 bytes and a NUL. */
const PATH_MAX_BYTES = 107

/** Calls with a path of the same file that is short enough for the kernel. */
const withShortPath = async <A>(path: string, use: (short: string) => Promise<A>): Promise<A> => {
  if (Buffer.byteLength(path) <= PATH_MAX_BYTES) return use(path)
  const folder = openSync(dirname(path), "r")
  try {
    return await use(join("/proc/self/fd", String(folder), basename(path)))
  } finally {
    closeSync(folder)
  }
}

export interface ListeningSocket {
  readonly fd: number
  /** Publishes it under its path and gives up this process's copy. */
  readonly release: () => void
}

export const listeningSocket = async (path: string): Promise<ListeningSocket> => {
  // Its own name each time: what closing unlinks is found by way of a descriptor's number, which may be another folder's by then.
  const unpublished = `${path}.${randomBytes(4).toString("hex")}`
  rmSync(path, { force: true })
  const server: Server = createServer()
  await withShortPath(
    unpublished,
    (short) =>
      new Promise<void>((resolve, reject) => {
        server.once("error", reject)
        server.listen(short, resolve)
      })
  )
  const { fd } = (server as unknown as { readonly _handle: { readonly fd: number } })._handle
  return {
    fd,
    release: () => {
      // Closing unlinks the name it was bound to; by then the socket has another.
      renameSync(unpublished, path)
      server.close()
    }
  }
}
