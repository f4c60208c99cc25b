/**
 * Maps the guest's refusals to the contract's errors. The guest is untrusted, and a path may change its kind during a call: a
 * refusal that the call does not define becomes one that every call has, and does not count as a failure of the Sandbox.
 */
import { Effect, Predicate } from "effect"
import {
  AlreadyExists,
  ArchiveIncomplete,
  archiveReasons,
  CursorStale,
  DestinationExists,
  DirectoryNotEmpty,
  InvalidPath,
  InvalidRequest,
  IsADirectory,
  NotADirectory,
  NotFound,
  PayloadTooLarge,
  PreconditionFailed,
  SandboxUnavailable,
  ServiceUnavailable,
  StorageFull,
  TextAmbiguous,
  TextNotFound
} from "../../schemas/Errors.ts"
import { fileContentMaxBytes } from "../../schemas/Limits.ts"
import type { FileRefused, GuestUnavailable } from "../runtime/Guest.ts"
import { unanswered } from "../sandbox/GuestChange.ts"

const numberIn = (details: FileRefused["details"], key: string): number | null => {
  const value = details?.[key]
  return Predicate.isNumber(value) && Number.isSafeInteger(value) ? value : null
}

const howFar = (entries: number): string =>
  entries === 0
    ? "Nothing was unpacked."
    : "Its entries up to details.lastPath are unpacked; what comes after that is as it was."

const errorOf = {
  INVALID_PATH: ({ message }: FileRefused) => new InvalidPath({ message }),
  INVALID_REQUEST: ({ message }: FileRefused) =>
    new InvalidRequest({ message, details: { issues: [{ path: ["path"], message }] } }),
  NOT_FOUND: ({ message }: FileRefused) => new NotFound({ message }),
  CURSOR_STALE: ({ message }: FileRefused) => new CursorStale({ message }),
  TEXT_NOT_FOUND: ({ message }: FileRefused) => new TextNotFound({ message }),
  TEXT_AMBIGUOUS: ({ message, details }: FileRefused) =>
    new TextAmbiguous({ message, details: { occurrences: numberIn(details, "occurrences") ?? 2 } }),
  DESTINATION_EXISTS: ({ message }: FileRefused) => new DestinationExists({ message }),
  DIRECTORY_NOT_EMPTY: ({ message }: FileRefused) => new DirectoryNotEmpty({ message }),
  NOT_A_DIRECTORY: ({ message }: FileRefused) => new NotADirectory({ message }),
  IS_A_DIRECTORY: ({ message }: FileRefused) => new IsADirectory({ message }),
  ALREADY_EXISTS: ({ message }: FileRefused) => new AlreadyExists({ message }),
  PRECONDITION_FAILED: ({ message, details }: FileRefused) => {
    const actual = details?.["actualSha256"]
    const actualSha256 = Predicate.isString(actual) && /^[0-9a-f]{64}$/.test(actual) ? actual : ""
    return new PreconditionFailed({ message, details: { actualSha256 } })
  },
  PAYLOAD_TOO_LARGE: ({ message, details }: FileRefused) =>
    new PayloadTooLarge({ message, details: { limitBytes: numberIn(details, "limitBytes") ?? fileContentMaxBytes } }),
  STORAGE_FULL: ({ message }: FileRefused) => new StorageFull({ message }),
  ARCHIVE_INCOMPLETE: ({ message, details }: FileRefused) => {
    const lastPath = details?.["lastPath"]
    return new ArchiveIncomplete({
      message: `${message} ${howFar(numberIn(details, "entries") ?? 0)}`,
      details: {
        reason: archiveReasons.find((reason) => reason === details?.["reason"]) ?? "malformed",
        entries: numberIn(details, "entries") ?? 0,
        bytes: numberIn(details, "bytes") ?? 0,
        lastPath: Predicate.isString(lastPath) ? lastPath : null
      }
    })
  },
  VOLUME_READ_ONLY: () =>
    new ServiceUnavailable({
      message:
        "The Sandbox's volume is read-only: the kernel stopped writes after a fault. Stop and start the Sandbox; if that does not help, ask the operator."
    }),
  VOLUME_FAILED: () =>
    new ServiceUnavailable({
      message:
        "The Sandbox's volume failed during the call, which may have been done. Stop and start the Sandbox, and check before you repeat it; if that does not help, ask the operator.",
      details: { outcome: "unknown" }
    }),
  HOST_FULL: () =>
    new ServiceUnavailable({
      message:
        "The disk of the Sandbox's host is full. The Sandbox did not cause this. Try again later, or ask the operator."
    }),
  NO_RESOURCES: () =>
    new ServiceUnavailable({
      message:
        "The Sandbox has no free memory or open files for this. Try again; if that does not help, end a process in it, or stop and start it."
    })
} satisfies Record<FileRefused["code"], (refused: FileRefused) => Error>

type Code = keyof typeof errorOf
type ErrorOf<C extends Code> = ReturnType<(typeof errorOf)[C]>

/** Refusals of every call. */
const always = [
  "INVALID_PATH",
  "NOT_FOUND",
  "NOT_A_DIRECTORY",
  "VOLUME_READ_ONLY",
  "VOLUME_FAILED",
  "HOST_FULL",
  "NO_RESOURCES"
] as const
type Always = (typeof always)[number]

/** @param codes Further refusals of this call. */
export const inContract = <const C extends Code = never>(...codes: ReadonlyArray<C>) => {
  const expected: ReadonlySet<Code> = new Set<Code>([...always, ...codes])
  return <A, E, R>(
    call: Effect.Effect<A, E | FileRefused | GuestUnavailable, R>
  ): Effect.Effect<A, Exclude<E, FileRefused | GuestUnavailable> | ErrorOf<C | Always> | Unavailable, R> =>
    Effect.catch(call, (fault) =>
      Effect.fail(
        (isRefused(fault) ? (expected.has(fault.code) ? errorOf[fault.code](fault) : changed()) : unavailable(fault)) as
          | Exclude<E, FileRefused | GuestUnavailable>
          | ErrorOf<C | Always>
          | Unavailable
      )
    )
}

type Unavailable = SandboxUnavailable | ServiceUnavailable

/** Contract-details: a file call that did not reach the agent did nothing and can be repeated soon (503); a call that was lost cannot (502). */
const unavailable = <E>(fault: E) => {
  const isNotReached =
    (isUnavailable(fault) && fault.fault === "unreached") ||
    (fault instanceof SandboxUnavailable && !fault.details.outcome)
  if (isNotReached) return notReached()
  return isUnavailable(fault) ? unanswered() : fault
}

const notReached = () =>
  new ServiceUnavailable({
    message: "The Sandbox was not reached and nothing was done. Send the request again in a few seconds.",
    details: null
  })

const changed = () =>
  new InvalidPath({ message: "The entry at this path changed during the call. Check it, and try again." })

const isRefused = (fault: unknown): fault is FileRefused => Predicate.isTagged(fault, "FileRefused")
const isUnavailable = (fault: unknown): fault is GuestUnavailable => Predicate.isTagged(fault, "GuestUnavailable")
