/** The source or the destination of a copy: `path`, or `sandbox:path`. */
import { posix } from "node:path"
import { Refused } from "../failure.ts"

export type Place =
  | { readonly sandbox: null; readonly path: string }
  /** The path is absolute, below /workspace. */
  | { readonly sandbox: string; readonly path: string }

const workspace = "/workspace"

export const isBelowWorkspace = (path: string): boolean => path === workspace || path.startsWith(`${workspace}/`)

/** As scp reads it: a local path with a colon is written `./a:b`. */
export const placeOf = (text: string): Place => {
  const colon = text.indexOf(":")
  if (colon < 1 || text.lastIndexOf("/", colon) !== -1) return { sandbox: null, path: text }
  const given = text.slice(colon + 1)
  const path = posix.resolve(workspace, given)
  if (!isBelowWorkspace(path)) {
    throw new Refused(
      `${given} is not below ${workspace}, and only that is copied. What is elsewhere is read by a command: \`atoll run -s ${text.slice(0, colon)} -- cat ${given}\`.`
    )
  }
  return { sandbox: text.slice(0, colon), path }
}

/** `src/.` stands for the content of `src`. */
export const isContentOf = (path: string): boolean => /(?:^|\/)\.\/?$/.test(path)

export const isDirectoryMeant = (path: string): boolean => path.endsWith("/") || isContentOf(path)
