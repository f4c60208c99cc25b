/** Other programs take the room of a small disk (`smallDisk`), and give it back. */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, readdirSync, rmSync, statfsSync, watch } from "node:fs"
import { join } from "node:path"
import { expect } from "@effect/vitest"

const MiB = 1024 ** 2
const FILLER = "filler"

/** Takes the disk but for so much. */
export const fillBut = (disk: string, leftBytes: number): void => {
  const { bavail, bsize } = statfsSync(disk)
  const bytes = bavail * bsize - leftBytes
  if (bytes > 0) execFileSync("fallocate", ["-l", String(bytes), join(disk, FILLER)])
}

/** Takes the last block, too. The file system needs some for its own tables, so the last ones are written until one fails. */
export const fillUp = (disk: string): void => {
  if (existsSync(join(disk, FILLER))) return
  fillBut(disk, 4 * MiB)
  const { stderr } = spawnSync("dd", ["if=/dev/zero", `of=${join(disk, FILLER)}-end`, "bs=4096"], { encoding: "utf8" })
  expect(stderr).toContain("No space left on device")
}

export const makeRoom = (disk: string): void => {
  for (const name of readdirSync(disk)) if (name.startsWith(FILLER)) rmSync(join(disk, name))
}

/** Every file on the disk but what fills it. @param isMeant Leaves out files that come and go by themselves. */
export const filesOn = (
  disk: string,
  isMeant: (file: { readonly folder: string; readonly name: string }) => boolean = () => true
): ReadonlyArray<string> =>
  readdirSync(disk, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith(FILLER))
    .filter(({ parentPath: folder, name }) => isMeant({ folder, name }))
    .map(({ parentPath, name }) => join(parentPath, name))
    .toSorted()

/** `end` fails the test unless the file was made. */
export interface AwaitedFile {
  readonly end: () => void
}

/**
 * Runs `act` once a file that fits is made or renamed in the folder: before this process does anything else, so also before a program that it starts
 * next. The folder may be made later, in one that is there.
 */
export const onceMade = (folder: string, fits: (name: string) => boolean, act: () => void): AwaitedFile => {
  let isMade = false
  const ends: Array<() => void> = []
  const look = (path: string, found: (name: string) => void) => {
    const watcher = watch(path, (_, name) => {
      if (name !== null) found(name)
    })
    ends.push(() => watcher.close())
  }
  const lookInside = () =>
    look(folder, (name) => {
      if (isMade || !fits(name)) return
      isMade = true
      act()
    })
  if (existsSync(folder)) lookInside()
  else {
    let isInside = false
    look(join(folder, ".."), () => {
      if (isInside || !existsSync(folder)) return
      isInside = true
      lookInside()
    })
  }
  return {
    end: () => {
      for (const end of ends) end()
      expect(isMade).toBe(true)
    }
  }
}
