/** The reasons why unpacking an archive stopped. The words are the API's: `details.reason` of ARCHIVE_INCOMPLETE. */
import { errnoOf, FileRefusal, faultFor, isFault } from "../FileRefusal.ts"

/** @source src/agent/wire.ts */
export type ArchiveReason =
  | "malformed"
  | "truncated"
  | "unsafe_name"
  | "name_too_long"
  | "unsupported_entry"
  | "in_the_way"
  | "missing_target"
  | "too_large"
  | "storage_full"
  | "not_permitted"

export class ArchiveFault extends Error {
  readonly reason: ArchiveReason
  /** @param message A sentence for the client that sent the archive. */
  constructor(reason: ArchiveReason, message: string) {
    super(message)
    this.name = "ArchiveFault"
    this.reason = reason
  }
}

export const malformed = (what: string) => new ArchiveFault("malformed", `This is no tar archive: ${what}.`)

export const truncated = () =>
  new ArchiveFault("truncated", "The archive ends before its end: what made it was stopped, or sent only a part.")

export const inTheWay = () =>
  new ArchiveFault("in_the_way", "Something of another kind is there already, and is not replaced.")

const notPermitted = ["not_permitted", "The Sandbox's user has no permission for that."] as const
const full = ["storage_full", "The Sandbox's volume is full."] as const

const byErrno: Readonly<Record<string, readonly [ArchiveReason, string]>> = {
  ENOSPC: full,
  EDQUOT: full,
  EFBIG: ["too_large", "A file would be larger than this Sandbox allows."],
  ENAMETOOLONG: ["name_too_long", "A name is longer than 255 bytes."],
  EACCES: notPermitted,
  EPERM: notPermitted,
  EMLINK: ["too_large", "A file would have more names than the file system allows."],
  EISDIR: ["in_the_way", inTheWay().message],
  ENOTDIR: ["in_the_way", inTheWay().message],
  ENOTEMPTY: ["in_the_way", inTheWay().message],
  EEXIST: ["in_the_way", inTheWay().message],
  ELOOP: ["in_the_way", inTheWay().message],
  ENOENT: ["in_the_way", "A directory was removed or replaced while the archive was being unpacked into it."],
  ETXTBSY: ["in_the_way", "A file there is being executed."],
  EBUSY: ["in_the_way", "There is a mount point."],
  EXDEV: ["unsafe_name", "An entry leads out of /workspace through a mount."],
  EINVAL: ["unsafe_name", "The file system does not take a name."],
  EILSEQ: ["unsafe_name", "The file system does not take a name."]
}

/** Converts an error that the caller can understand or fix into a fault of the archive. A fault of the Sandbox, and any other error, is returned as it is. */
export const archiveFaultFor = (cause: unknown): unknown => {
  if (cause instanceof FileRefusal) return isFault(cause) ? cause : new ArchiveFault("unsafe_name", cause.message)
  const fault = faultFor(cause)
  if (fault !== null) return fault
  const known = byErrno[errnoOf(cause) ?? ""]
  return known === undefined ? cause : new ArchiveFault(...known)
}
