/**
 * A pipe whose write end one process keeps for as long as it lives, so that another, with the read end, ends with it.
 *
 * It has a name in a folder that no Sandbox sees. A later reader opens that name, never the descriptor of the process that holds the write end:
 * a hostile process can put anything in its place, such as a terminal.
 */
import { closeSync, constants, fstatSync, openSync } from "node:fs"
import { rm } from "node:fs/promises"
import { mustRun } from "./hostCommand.ts"

export interface LifePipe {
  readonly readFd: number
  readonly writeFd: number
}

const { O_RDONLY, O_WRONLY, O_NONBLOCK, O_NOCTTY, O_NOFOLLOW } = constants
/** Names a file without opening it: no driver runs, no terminal is taken, no writer is waited for. */
const O_PATH = 0o10000000

/** Node makes no pipe whose ends can go to different processes, so it is a FIFO. The caller closes both ends. */
export const makeLifePipe = async (path: string): Promise<LifePipe> => {
  await rm(path, { force: true })
  await mustRun(["mkfifo", "-m", "600", path])
  const readFd = openLifePipe(path)
  try {
    return { readFd, writeFd: openSync(path, O_WRONLY | O_NOCTTY | O_NOFOLLOW) }
  } catch (cause) {
    closeSync(readFd)
    throw cause
  }
}

/**
 * Another read end of a pipe that `makeLifePipe` made; the caller closes it. It reads end of file once the writer ends.
 *
 * @throws When there is none, or what is there is not a FIFO of the service's own user.
 */
export const openLifePipe = (path: string): number => {
  const named = openSync(path, O_PATH | O_NOFOLLOW)
  try {
    const found = fstatSync(named)
    if (!found.isFIFO() || found.uid !== process.getuid?.()) throw new Error(`${path} is not a pipe of the service`)
    return openSync(`/proc/self/fd/${named}`, O_RDONLY | O_NONBLOCK | O_NOCTTY)
  } finally {
    closeSync(named)
  }
}
