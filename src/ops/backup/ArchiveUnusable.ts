import { Schema } from "effect"

/** The archive cannot be written, read or restored. `message` is one sentence for the operator. */
export class ArchiveUnusable extends Schema.TaggedError<ArchiveUnusable>()("ArchiveUnusable", {
  message: Schema.String
}) {}

/** Converts a rejection: an ArchiveUnusable stays, and a system error becomes a sentence. */
export const unusable = (cause: unknown): ArchiveUnusable => {
  if (cause instanceof ArchiveUnusable) return cause
  const { code } = cause as NodeJS.ErrnoException
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new ArchiveUnusable({ message: "There is not enough room on the disk; the partial files are removed." })
  }
  return new ArchiveUnusable({ message: cause instanceof Error ? cause.message : String(cause) })
}
