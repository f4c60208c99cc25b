/**
 * The reasons for which a file call is refused, in the contract's codes.
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

/**
 * Faults of the Sandbox, not of the caller, answered with 503: its volume is read-only or fails; its host's disk is full; the Sandbox or its host has
 * no memory or no descriptors left.
 */
export const faultCodes = ["VOLUME_READ_ONLY", "VOLUME_FAILED", "HOST_FULL", "NO_RESOURCES"] as const
export type FaultCode = (typeof faultCodes)[number]

export class FileRefusal extends Error {
  readonly code: RefusalCode | FaultCode
  readonly details: Readonly<Record<string, unknown>> | null
  constructor(
    code: RefusalCode | FaultCode,
    message: string,
    details: Readonly<Record<string, unknown>> | null = null
  ) {
    super(message)
    this.name = "FileRefusal"
    this.code = code
    this.details = details
  }
}

/** Linux error numbers without a name in libuv: Node reports them as "Unknown system error -122". @source include/uapi/asm-generic/errno.h */
const unnamed: ReadonlyMap<unknown, string> = new Map([
  [-74, "EBADMSG"],
  [-116, "ESTALE"],
  [-117, "EUCLEAN"],
  [-122, "EDQUOT"],
  [-123, "ENOMEDIUM"]
])

/** `ENOENT` and the like; undefined when `cause` is no system error. */
export const errnoOf = (cause: unknown): string | undefined => {
  if (!(cause instanceof Error) || !("code" in cause) || typeof cause.code !== "string") return undefined
  return ("errno" in cause ? unnamed.get(cause.errno) : undefined) ?? cause.code
}

const fails = (what: string) => ["VOLUME_FAILED", `The Sandbox's volume fails: ${what}.`] as const
const lacks = (what: string) => ["NO_RESOURCES", `There is no room for this: ${what}.`] as const

/** ext4 and XFS report damaged metadata as EUCLEAN or EBADMSG. */
const faults: Readonly<Record<string, readonly [FaultCode, string]>> = {
  EROFS: ["VOLUME_READ_ONLY", "The Sandbox's volume takes no writes."],
  EIO: fails("a read or write did not succeed"),
  EUCLEAN: fails("its file system is damaged"),
  EBADMSG: fails("its file system is damaged"),
  ESTALE: fails("it is not there any more"),
  ENODEV: fails("it is not there any more"),
  ENXIO: fails("it is not there any more"),
  ENOMEDIUM: fails("it is not there any more"),
  ENOTCONN: fails("it is not there any more"),
  ESHUTDOWN: fails("it is not there any more"),
  EREMOTEIO: fails("a read or write did not succeed"),
  ETIMEDOUT: fails("a read or write took too long"),
  ENOMEM: lacks("the Sandbox has no memory left"),
  ENOBUFS: lacks("the Sandbox has no memory left"),
  EMFILE: lacks("the Sandbox's agent has too many files open"),
  ENFILE: lacks("the host has too many files open"),
  EAGAIN: lacks("something else is in the way for now")
}

const isFull = (errno: string | undefined): boolean => errno === "ENOSPC" || errno === "EDQUOT"

/**
 * The fault of the Sandbox behind a system error; null when the caller caused it. A volume with room accepts a write immediately and reserves the
 * space. If a later flush to the disk finds no space, the host's disk is full.
 */
export const faultFor = (cause: unknown): FileRefusal | null => {
  const errno = errnoOf(cause)
  if (isFull(errno) && isOfFlush(cause)) return hostFull()
  const known = faults[errno ?? ""]
  return known === undefined ? null : new FileRefusal(...known)
}

const isOfFlush = (cause: unknown): boolean =>
  cause instanceof Error && "syscall" in cause && (cause.syscall === "fsync" || cause.syscall === "fdatasync")

export const hostFull = (): FileRefusal => new FileRefusal("HOST_FULL", "The disk of the Sandbox's host is full.")

export const isFault = (refusal: FileRefusal): boolean => faultCodes.some((code) => code === refusal.code)

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
  ETXTBSY: ["INVALID_PATH", "This file is being executed.", "busy"],
  EBUSY: ["INVALID_PATH", "This path is a mount point.", "mount"],
  EXDEV: ["INVALID_PATH", "This path leaves /workspace through a mount.", "mount"],
  EINVAL: ["INVALID_PATH", "The file system does not take this name.", "invalid_name"],
  EILSEQ: ["INVALID_PATH", "The file system does not take this name.", "invalid_name"]
}

/** A refusal for a system error that the caller can understand or fix, or a fault of the Sandbox. Any other error is returned as it is (a defect of Atoll). */
export const refusalFor = (cause: unknown): unknown => {
  if (cause instanceof FileRefusal) return cause
  const fault = faultFor(cause)
  if (fault !== null) return fault
  const known = byErrno[errnoOf(cause) ?? ""]
  if (known === undefined) return cause
  const [code, message, reason] = known
  return new FileRefusal(code, message, reason === undefined ? null : { reason })
}

export const specialFile = () =>
  new FileRefusal("INVALID_PATH", "This path is a fifo, a socket or a device; only regular files have content.", {
    reason: "special_file"
  })
