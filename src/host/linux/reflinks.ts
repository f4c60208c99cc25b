/** Tests whether the file system of a folder has reflinks, by one small file and its copy. */
import { randomUUID } from "node:crypto"
import { rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { shareBlocks } from "./imageCopy.ts"

/** One block, because an empty file shares none. */
const TRIAL_BYTES = 4096

/** Null where this process may not write there. */
export const hasReflinks = async (folder: string): Promise<boolean | null> => {
  const trial = join(folder, `.reflink-${randomUUID()}`)
  try {
    await writeFile(trial, Buffer.alloc(TRIAL_BYTES, 1), { flag: "wx", mode: 0o600 })
    return await shareBlocks(trial, `${trial}.copy`)
  } catch {
    return null
  } finally {
    for (const path of [trial, `${trial}.copy`]) await rm(path, { force: true }).catch(() => {})
  }
}
