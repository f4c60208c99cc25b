/** Connects to Unix sockets whose path may exceed the 107 bytes of an address. */
import { closeSync, constants, lstatSync, openSync } from "node:fs"
import { createConnection, type OnReadOpts, type Socket } from "node:net"
import { basename, dirname } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

/**
 * Rejects with ENOENT or ECONNREFUSED when no process listens. Does not follow a symbolic link: QEMU owns the folder.
 *
 * The three calls take some microseconds, and a visit to the thread pool takes longer.
 *
 * `onread` gets the bytes in place of the events `data`.
 *
 * The socket keeps a listener for errors: a process that dies with the connection in its backlog resets it, perhaps before the caller has it, and an
 * error without a listener would end the service. The caller hears of it by the event `close`.
 */
export const connectUnix = async (path: string, onread?: OnReadOpts): Promise<Socket> => {
  const folder = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  let connected: Socket
  try {
    const short = `/proc/self/fd/${folder}/${basename(path)}`
    if (!lstatSync(short).isSocket()) throw new Error(`${basename(path)} is no socket`)
    connected = await new Promise<Socket>((resolve, reject) => {
      const socket = createConnection({ path: short, ...(onread === undefined ? {} : { onread }) })
      socket.on("error", reject)
      socket.once("connect", () => resolve(socket))
    })
  } finally {
    closeSync(folder)
  }
  if (connected.errored !== null) throw connected.errored
  return connected
}

/** Retries until a process listens, `stillWorth` returns false, or the time is over. */
export const connectUnixSoon = async (
  path: string,
  options: { readonly timeoutMs: number; readonly stillWorth: () => boolean }
): Promise<Socket> => {
  const deadline = performance.now() + options.timeoutMs
  for (;;) {
    try {
      return await connectUnix(path)
    } catch (error) {
      if (performance.now() > deadline || !options.stillWorth()) throw error
      await sleep(2)
    }
  }
}
