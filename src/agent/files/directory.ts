/** POST directory. @source contract-details.md CreateDirectoryRequest */
import { FileRefusal, refusalFor } from "./FileRefusal.ts"
import type { Workspace } from "./Workspace.ts"

/** `recursive` also makes missing parents, and accepts an existing directory (or a link to one). */
export const makeDirectory = (workspace: Workspace, path: string, options: { readonly recursive: boolean }): void => {
  if (options.recursive) makeAll(workspace, path)
  else makeOne(workspace, path)
}

const makeOne = (workspace: Workspace, path: string): void => {
  using place = workspace.place(path, "entry")
  if (place.name === null) throw new FileRefusal("ALREADY_EXISTS", "/workspace is always there.")
  try {
    workspace.makeDirectory(place.path)
  } catch (cause) {
    throw refusalFor(cause)
  }
}

const makeAll = (workspace: Workspace, path: string): void => {
  try {
    workspace.makeDirectories(path)
  } catch (cause) {
    // A file of that name is in the way; a file as a parent stays NOT_A_DIRECTORY.
    if (!(cause instanceof FileRefusal) || cause.code !== "NOT_A_DIRECTORY") throw cause
    using place = workspace.place(path, "entry")
    throw place.lstat() === null ? cause : new FileRefusal("ALREADY_EXISTS", "There is already something at this path.")
  }
}
