/** The folder itself, or its nearest existing ancestor. */
import { existsSync } from "node:fs"
import { dirname } from "node:path"

export const nearestFolder = (folder: string): string =>
  existsSync(folder) || dirname(folder) === folder ? folder : nearestFolder(dirname(folder))
