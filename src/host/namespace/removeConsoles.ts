import { readdirSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"

/** Removes the consoles of earlier generations from a volume. */
export const removeConsoles = async (folder: string): Promise<void> => {
  for (const name of readdirSync(folder)) {
    if (name.startsWith("console-")) await rm(join(folder, name), { force: true })
  }
}
