/** Finds which programs this host lacks, and their Debian packages. */
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

/** `programs` maps each program to its package. Returns the packages of the missing programs, without duplicates. */
export const missingPackages = (programs: Readonly<Record<string, string>>): ReadonlyArray<string> => [
  ...new Set(Object.entries(programs).flatMap(([program, name]) => (isInstalled(program) ? [] : [name])))
]
