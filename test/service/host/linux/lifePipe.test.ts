import { closeSync, fstatSync, openSync, readSync, symlinkSync, writeFileSync } from "node:fs"
import { chown, rm } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { makeLifePipe, openLifePipe } from "../../../../src/host/linux/lifePipe.ts"
import { inFolder } from "../../../support/host/linux/inFolder.ts"

/** Bytes read; -1: none yet, and a writer lives. */
const readOnce = (fd: number): number => {
  try {
    return readSync(fd, Buffer.alloc(1))
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EAGAIN") return -1
    throw cause
  }
}

describe("a life pipe", () => {
  it("reads end of file once its writer is gone, also through a reader that was opened later", () =>
    inFolder(async (folder) => {
      const path = join(folder, "life")
      const { readFd, writeFd } = await makeLifePipe(path)
      const later = openLifePipe(path)
      assert.deepStrictEqual([readOnce(readFd), readOnce(later)], [-1, -1])
      closeSync(writeFd)
      assert.deepStrictEqual([readOnce(readFd), readOnce(later)], [0, 0])
      for (const fd of [readFd, later]) closeSync(fd)
    }))

  it("is not opened in place of something else: a terminal, a link to one, a file, another user's pipe", () =>
    inFolder(async (folder) => {
      const path = join(folder, "life")
      assert.throws(() => openLifePipe(path), /ENOENT/)
      writeFileSync(path, "")
      assert.throws(() => openLifePipe(path), /not a pipe of the service/)
      await rm(path)
      symlinkSync("/dev/ptmx", path)
      assert.throws(() => openLifePipe(path), /ELOOP|not a pipe of the service/)
      await rm(path)
      assert.throws(() => openLifePipe("/dev/ptmx"), /not a pipe of the service/)
      const { readFd, writeFd } = await makeLifePipe(path)
      for (const fd of [readFd, writeFd]) {
        assert.isTrue(fstatSync(fd).isFIFO())
        closeSync(fd)
      }
      if (process.getuid?.() !== 0) return
      await chown(path, 1000, 1000)
      assert.throws(() => openLifePipe(path), /not a pipe of the service/)
      closeSync(openSync("/dev/null", "r"))
    }))
})
