/** Refuses a working directory that a command cannot use. */
import { accessSync, constants, statSync } from "node:fs"
import { Refusal } from "../routes.ts"

/** `cause`: why the directory could not be entered. */
export const folderRefusal = (cwd: string, cause: unknown): Refusal =>
  (cause as NodeJS.ErrnoException).code === "ENOTDIR"
    ? new Refusal(409, "CWD_NOT_A_DIRECTORY", `${cwd} is not a directory`)
    : new Refusal(409, "CWD_NOT_FOUND", `${cwd} does not exist or cannot be entered`)

/** Throws the Refusal. Node's own error does not distinguish a missing directory from a missing program. */
export const checkFolder = (cwd: string): void => {
  try {
    if (!statSync(cwd).isDirectory()) throw Object.assign(new Error("ENOTDIR"), { code: "ENOTDIR" })
    accessSync(cwd, constants.X_OK)
  } catch (cause) {
    throw folderRefusal(cwd, cause)
  }
}
