/** A pipe whose write end one process keeps for as long as it lives, so that another, with the read end, ends with it. */
import { closeSync, constants, openSync } from "node:fs"
import { rm, unlink } from "node:fs/promises"
import { mustRun } from "./hostCommand.ts"
import type { ProcessIdentity } from "./ProcessIdentity.ts"

export interface LifePipe {
  readonly readFd: number
  readonly writeFd: number
}

/** By way of a name that is gone afterwards: Node makes no pipe whose ends can go to different processes. The caller closes both ends. */
export const makeLifePipe = async (path: string): Promise<LifePipe> => {
  await rm(path, { force: true })
  await mustRun(["mkfifo", "-m", "600", path])
  const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return { readFd, writeFd: openSync(path, constants.O_WRONLY) }
  } catch (cause) {
    closeSync(readFd)
    throw cause
  } finally {
    await unlink(path)
  }
}

/** Another read end of the pipe that this process holds at that descriptor; the caller closes it. Throws when it has none. */
export const reopenLifePipe = ({ pid }: ProcessIdentity, descriptor: number): number =>
  openSync(`/proc/${pid}/fd/${descriptor}`, constants.O_RDONLY | constants.O_NONBLOCK)
