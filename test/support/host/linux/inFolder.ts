import { mkdtempSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Lends a new folder, which is removed afterwards. */
export const inFolder = async (body: (folder: string) => Promise<void>) => {
  const folder = mkdtempSync(join(tmpdir(), "atoll-linux-"))
  try {
    await body(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
