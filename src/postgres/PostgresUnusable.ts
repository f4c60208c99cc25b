import { Schema } from "effect"

/** The embedded Postgres cannot serve. `message` is one or two sentences for the operator: what is wrong, and what to do. */
export class PostgresUnusable extends Schema.TaggedError<PostgresUnusable>()("PostgresUnusable", {
  message: Schema.String
}) {}

const errno = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string" ? cause.code : ""

/** Turns a file-system fault on `path` into a sentence that says what to do. */
export const folderFault = (path: string, cause: unknown): PostgresUnusable => {
  if (cause instanceof PostgresUnusable) return cause
  const user = process.getuid?.() ?? -1
  switch (errno(cause)) {
    case "EACCES":
    case "EPERM":
      return new PostgresUnusable({
        message: `The data folder ${path} is not writable by user id ${user}. Give it to that user (chown), or set ATOLL_DATA_DIR to another folder.`
      })
    case "EROFS":
      return new PostgresUnusable({
        message: `The data folder ${path} is on a read-only file system. Set ATOLL_DATA_DIR to a folder that can be written.`
      })
    case "ENOSPC":
    case "EDQUOT":
      return new PostgresUnusable({ message: `The disk of ${path} is full. Free some space and start again.` })
    case "ENOTDIR":
    case "EEXIST":
      return new PostgresUnusable({
        message: `${path} is, or lies below, something that is no folder. Set ATOLL_DATA_DIR to a folder.`
      })
    default:
      return new PostgresUnusable({
        message: `The data folder ${path} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}.`
      })
  }
}
