/**
 * A pipe that ties the life of one process to another's: one process keeps the write end for as long as it lives, and the process with the read end
 * ends on end of file.
 *
 * The pipe has a name in a folder that no Sandbox sees. A later reader opens that name, never a descriptor of the process that holds the write end: a
 * hostile process can replace its descriptor, for example with a terminal.
 */
import { closeSync, constants, fstatSync, openSync, unlinkSync } from "node:fs"
import { rm } from "node:fs/promises"
import { mustRun } from "./hostCommand.ts"

export interface LifePipe {
  readonly readFd: number
  readonly writeFd: number
}

const { O_RDONLY, O_WRONLY, O_NONBLOCK, O_NOCTTY, O_NOFOLLOW } = constants
/** Refers to a file without opening it: no driver code runs, no terminal is acquired, and the call does not wait for a writer. */
const O_PATH = 0o10000000

/** A FIFO, because Node has no pipe whose ends go to different processes. The caller closes both ends. */
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

export const closeLifePipe = ({ readFd, writeFd }: LifePipe): void => {
  for (const fd of [readFd, writeFd]) closeSync(fd)
}

/** A pipe on which a child waits: a read blocks. It has its name for a moment only. The caller closes both ends. */
export const makeGate = async (path: string): Promise<LifePipe> => {
  const { readFd, writeFd } = await makeLifePipe(path)
  try {
    unlinkSync(path)
    return { readFd: openSync(`/proc/self/fd/${readFd}`, O_RDONLY | O_NOCTTY), writeFd }
  } catch (cause) {
    closeSync(writeFd)
    throw cause
  } finally {
    closeSync(readFd)
  }
}

/**
 * Opens another read end of a pipe that `makeLifePipe` made. It reads end of file once the writer ends. The caller closes it.
 *
 * @throws When the pipe is missing, or is not a FIFO of the service's user.
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
