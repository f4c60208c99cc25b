/**
 * A listening socket that a driver creates, in a folder that only the service can use, for a child process that inherits it.
 *
 * No other process can therefore replace it by another socket or by a link to one of the host's sockets. The socket lives exactly as long as the
 * process that inherited it.
 */
import { randomBytes } from "node:crypto"
import { closeSync, openSync, renameSync, rmSync } from "node:fs"
import { createServer, type Server } from "node:net"
import { basename, dirname, join } from "node:path"

/** sun_path holds 107 bytes and a NUL. */
const PATH_MAX_BYTES = 107

/** Calls `use` with a path of the same file that fits into sun_path. */
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
  /** Renames the socket to its final path and closes this process's copy. */
  readonly release: () => void
}

export const listeningSocket = async (path: string): Promise<ListeningSocket> => {
  // A new name each time. Closing the server unlinks this name by a descriptor's number, which may refer to another folder by then.
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
      // Closing unlinks the name that was bound; the socket has its final name by then.
      renameSync(unpublished, path)
      server.close()
    }
  }
}
