/**
 * Why a file call was refused, in the contract's codes.
 *
 * @source contract-details.md "Errors" and "Fine print"
 */
export type RefusalCode =
  | "INVALID_PATH"
  | "INVALID_REQUEST"
  | "NOT_FOUND"
  | "CURSOR_STALE"
  | "TEXT_NOT_FOUND"
  | "TEXT_AMBIGUOUS"
  | "DESTINATION_EXISTS"
  | "DIRECTORY_NOT_EMPTY"
  | "NOT_A_DIRECTORY"
  | "IS_A_DIRECTORY"
  | "ALREADY_EXISTS"
  | "PRECONDITION_FAILED"
  | "PAYLOAD_TOO_LARGE"
  | "STORAGE_FULL"
  | "ARCHIVE_INCOMPLETE"

export class FileRefusal extends Error {
  readonly code: RefusalCode
  readonly details: Readonly<Record<string, unknown>> | null
  constructor(code: RefusalCode, message: string, details: Readonly<Record<string, unknown>> | null = null) {
    super(message)
    this.name = "FileRefusal"
    this.code = code
    this.details = details
  }
}

/** `ENOENT` and the like; undefined when `cause` is no system error. */
export const errnoOf = (cause: unknown): string | undefined =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined

const byErrno: Readonly<Record<string, readonly [RefusalCode, string, reason?: string]>> = {
  ENOENT: ["NOT_FOUND", "There is nothing at this path."],
  ENOTDIR: ["NOT_A_DIRECTORY", "A part of this path is not a directory."],
  EISDIR: ["IS_A_DIRECTORY", "This path is a directory."],
  EEXIST: ["ALREADY_EXISTS", "There is already something at this path."],
  ENOTEMPTY: ["DIRECTORY_NOT_EMPTY", "This directory is not empty."],
  ENOSPC: ["STORAGE_FULL", "The Sandbox's volume is full. Remove something and try again."],
  EDQUOT: ["STORAGE_FULL", "The Sandbox's volume is full. Remove something and try again."],
  EFBIG: ["PAYLOAD_TOO_LARGE", "The file would be larger than this Sandbox allows."],
  ELOOP: ["INVALID_PATH", "This path goes through too many symbolic links.", "too_many_links"],
  ENAMETOOLONG: ["INVALID_PATH", "A name in this path is longer than 255 bytes.", "name_too_long"],
  EACCES: ["INVALID_PATH", "The Sandbox's user has no permission for this path.", "permission_denied"],
  EPERM: ["INVALID_PATH", "The Sandbox's user has no permission for this path.", "permission_denied"],
  EROFS: ["INVALID_PATH", "This path cannot be written.", "read_only"],
  ETXTBSY: ["INVALID_PATH", "This file is being executed.", "busy"],
  EBUSY: ["INVALID_PATH", "This path is a mount point.", "mount"],
  EXDEV: ["INVALID_PATH", "This path leaves /workspace through a mount.", "mount"],
  EINVAL: ["INVALID_PATH", "The file system does not take this name.", "invalid_name"],
  EILSEQ: ["INVALID_PATH", "The file system does not take this name.", "invalid_name"]
}

/** A refusal for a system error that the caller can understand or mend; anything else is returned as it is (a defect of ours or of the disk). */
export const refusalFor = (cause: unknown): unknown => {
  const known = byErrno[errnoOf(cause) ?? ""]
  if (cause instanceof FileRefusal || known === undefined) return cause
  const [code, message, reason] = known
  return new FileRefusal(code, message, reason === undefined ? null : { reason })
}

export const specialFile = () =>
  new FileRefusal("INVALID_PATH", "This path is a fifo, a socket or a device; only regular files have content.", {
    reason: "special_file"
  })
