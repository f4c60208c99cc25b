/** Which programs this host has, and the Debian packages of those that it has not. */
import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"
import { HOST_ENVIRONMENT } from "./hostCommand.ts"

const isInstalled = (program: string): boolean =>
  HOST_ENVIRONMENT.PATH.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })

/** `programs`: each with its package. The packages of those that are missing, each once. */
export const missingPackages = (programs: Readonly<Record<string, string>>): ReadonlyArray<string> => [
  ...new Set(Object.entries(programs).flatMap(([program, name]) => (isInstalled(program) ? [] : [name])))
]
