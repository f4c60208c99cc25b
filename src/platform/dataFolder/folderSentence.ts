/** Turns faults of a data folder into sentences that say what to do. */

const errno = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string" ? cause.code : ""

/** @param cause A file-system fault on `path`. */
export const folderSentence = (path: string, cause: unknown): string => {
  const user = process.getuid?.() ?? -1
  switch (errno(cause)) {
    case "EACCES":
    case "EPERM":
      return `The data folder ${path} is not writable by user id ${user}. Give it to that user (chown), or set ATOLL_DATA_DIR to another folder.`
    case "EROFS":
      return `The data folder ${path} is on a read-only file system. Set ATOLL_DATA_DIR to a folder that can be written.`
    case "ENOSPC":
    case "EDQUOT":
      return `The disk of ${path} is full. Free some space and start again.`
    case "ENOTDIR":
    case "EEXIST":
      return `${path} is, or lies below, something that is no folder. Set ATOLL_DATA_DIR to a folder.`
    default:
      return `The data folder ${path} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}.`
  }
}
