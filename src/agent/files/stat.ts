/** @source contract-details.md FileStatResponse */
import type fs from "node:fs"
import { FileRefusal } from "./FileRefusal.ts"
import { shownName, type Workspace } from "./Workspace.ts"

type FileType = "file" | "directory" | "symlink" | "other"

export interface FileStat {
  readonly name: string
  readonly type: FileType
  readonly sizeBytes: number
  /** Four octal digits. */
  readonly mode: string
  /** Epoch milliseconds. */
  readonly modifiedAt: number
}

const typeOf = (stat: fs.BigIntStats | fs.Stats): FileType =>
  stat.isFile() ? "file" : stat.isDirectory() ? "directory" : stat.isSymbolicLink() ? "symlink" : "other"

export const fileStat = (name: string, stat: fs.BigIntStats | fs.Stats): FileStat => ({
  name,
  type: typeOf(stat),
  sizeBytes: Number(stat.size),
  mode: (Number(stat.mode) & 0o7777).toString(8).padStart(4, "0"),
  modifiedAt: Math.floor(Number(stat.mtimeMs))
})

/** Metadata of the entry itself: a symbolic link is not followed. */
export const statPath = (workspace: Workspace, path: string): FileStat => {
  using place = workspace.place(path, "entry")
  const stat = place.lstat()
  if (stat === null) throw new FileRefusal("NOT_FOUND", "There is nothing at this path.")
  return fileStat(shownName(path), stat)
}
