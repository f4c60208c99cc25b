/**
 * Every error of the contract: one class a code. `_tag` is the code, `httpApiStatus` its status; on the wire all are the one Error body
 * `{code, message, requestId, details}`.
 *
 * `message` is one plain sentence that says what to do; it is for people and may change. `details` is for programs.
 *
 * @source contract-details.md "Errors"
 */
import { Effect, Schema, SchemaAST } from "effect"
import { plain, withDetails } from "./ErrorShape.ts"
import { ImageInUse, ImageLimitReached, ImageNotReady, ImageOfOperator, ImageUploadsReached } from "./ImageErrors.ts"
import { MemoryInUse } from "./SandboxProfile.ts"
import { snapshotErrors } from "./SnapshotErrors.ts"

/** One fault of a request. `path` starts at the body's root, or names the header or parameter. */
export const Issue = Schema.Struct({
  path: Schema.Array(Schema.Union([Schema.String, Schema.Int])).annotate({
    description: "Where it is: from the body's root, or the name of a header or parameter. Empty: the whole body."
  }),
  message: Schema.String.annotate({ description: "What is wrong, for people." })
}).annotate({ identifier: "Issue", description: "One thing that is wrong with a request." })
export interface Issue extends Schema.Schema.Type<typeof Issue> {}

export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()(
  "INVALID_REQUEST",
  withDetails("The request is not valid; details.issues says what to correct.", {
    issues: Schema.Array(Issue).annotate({ description: "All that is wrong, up to 20." })
  }),
  { httpApiStatus: 400 }
) {}

export class InvalidPath extends Schema.TaggedError<InvalidPath>()(
  "INVALID_PATH",
  plain("The path is not a safe path under /workspace."),
  { httpApiStatus: 400 }
) {}

export class NetworkDisabled extends Schema.TaggedError<NetworkDisabled>()(
  "NETWORK_DISABLED",
  plain("This Sandbox has no network. Create one with networkEnabled true."),
  { httpApiStatus: 400 }
) {}

export class Unauthenticated extends Schema.TaggedError<Unauthenticated>()(
  "UNAUTHENTICATED",
  plain("Send a valid API key as Authorization: Bearer <API_KEY>."),
  { httpApiStatus: 401 }
) {}

export class CreditExhausted extends Schema.TaggedError<CreditExhausted>()(
  "CREDIT_EXHAUSTED",
  plain("The account's credit is used up. Add credit, then try again."),
  { httpApiStatus: 402 }
) {}

export class ScopeRequired extends Schema.TaggedError<ScopeRequired>()(
  "SCOPE_REQUIRED",
  withDetails("This API key lacks a scope. Use a key that has the scope in details.scope.", {
    scope: Schema.String.annotate({ description: "The scope that this operation needs." })
  }),
  { httpApiStatus: 403 }
) {
  /** The sentence names it too: some readers have only the sentence. */
  static readonly of = (scope: string) =>
    new ScopeRequired({
      message: `This API key lacks the scope ${scope}. Use a key that has it; a key's scopes never change.`,
      details: { scope }
    })
}

/** For every endpoint, for every key of the account. */
export class AccountSuspended extends Schema.TaggedError<AccountSuspended>()(
  "ACCOUNT_SUSPENDED",
  plain("The account is suspended. Nothing of it is lost; ask the operator of this service to resume it."),
  { httpApiStatus: 403 }
) {}

/** For a session only: a browser sends its cookie with requests of other sites, too. */
export class CrossSiteRequest extends Schema.TaggedError<CrossSiteRequest>()(
  "CROSS_SITE_REQUEST",
  plain(
    "This did not come from the console's own page. Send the X-Atoll-Csrf that GET /console/api/session gives, from the page's own origin."
  ),
  { httpApiStatus: 403 }
) {}

export class NotFound extends Schema.TaggedError<NotFound>()(
  "NOT_FOUND",
  plain("There is no such resource in this account."),
  { httpApiStatus: 404 }
) {}

export class MethodNotAllowed extends Schema.TaggedError<MethodNotAllowed>()(
  "METHOD_NOT_ALLOWED",
  withDetails("This path does not have that method; the Allow header lists those that it has.", {
    allow: Schema.Array(Schema.String).annotate({ description: "The methods that the path has." })
  }),
  { httpApiStatus: 405 }
) {}

/** `details` holds what the ExecutionResult held when the time was over. */
export class ExecutionTimeout extends Schema.TaggedError<ExecutionTimeout>()(
  "EXECUTION_TIMEOUT",
  {
    message: Schema.String.pipe(
      Schema.withConstructorDefault(
        Effect.succeed("The command did not end in time and was killed. Raise timeoutSeconds, or start an operation.")
      )
    ),
    details: Schema.Unknown
  },
  { httpApiStatus: 408 }
) {}

export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()(
  "IDEMPOTENCY_CONFLICT",
  plain("This Idempotency-Key was used with a different request. Use a new key."),
  { httpApiStatus: 409 }
) {}

export class WorkspaceQuotaExceeded extends Schema.TaggedError<WorkspaceQuotaExceeded>()(
  "WORKSPACE_QUOTA_EXCEEDED",
  withDetails("The account has as many workspaces as it may have.", {
    limit: Schema.Int.annotate({ description: "How many it may have." })
  }),
  { httpApiStatus: 409 }
) {}

export class WorkspaceNotEmpty extends Schema.TaggedError<WorkspaceNotEmpty>()(
  "WORKSPACE_NOT_EMPTY",
  withDetails("The workspace has Sandboxes. Delete them first; details.sandboxCount says how many there are.", {
    sandboxCount: Schema.Int.annotate({ description: "How many it has." })
  }),
  { httpApiStatus: 409 }
) {}

export class PreviewExists extends Schema.TaggedError<PreviewExists>()(
  "PREVIEW_EXISTS",
  plain("A preview is open. Send alongside true for another port beside it, or close it: DELETE …/previews."),
  { httpApiStatus: 409 }
) {}

export class CursorStale extends Schema.TaggedError<CursorStale>()(
  "CURSOR_STALE",
  plain("The file or directory changed after the cursor was issued. Start again without a cursor."),
  { httpApiStatus: 409 }
) {}

export class TextNotFound extends Schema.TaggedError<TextNotFound>()(
  "TEXT_NOT_FOUND",
  plain("oldText does not occur in the file. Read it again."),
  { httpApiStatus: 409 }
) {}

export class TextAmbiguous extends Schema.TaggedError<TextAmbiguous>()(
  "TEXT_AMBIGUOUS",
  withDetails("oldText occurs more than once. Send a longer oldText, or replaceAll true.", {
    occurrences: Schema.Int.annotate({ description: "How often it occurs." })
  }),
  { httpApiStatus: 409 }
) {}

export class DestinationExists extends Schema.TaggedError<DestinationExists>()(
  "DESTINATION_EXISTS",
  plain("The destination exists. Send overwrite true to replace it."),
  { httpApiStatus: 409 }
) {}

export class DirectoryNotEmpty extends Schema.TaggedError<DirectoryNotEmpty>()(
  "DIRECTORY_NOT_EMPTY",
  plain("The directory is not empty."),
  { httpApiStatus: 409 }
) {}

export class NotADirectory extends Schema.TaggedError<NotADirectory>()(
  "NOT_A_DIRECTORY",
  plain("The path is not a directory."),
  { httpApiStatus: 409 }
) {}

export class IsADirectory extends Schema.TaggedError<IsADirectory>()(
  "IS_A_DIRECTORY",
  plain("The path is a directory."),
  { httpApiStatus: 409 }
) {}

export class AlreadyExists extends Schema.TaggedError<AlreadyExists>()("ALREADY_EXISTS", plain("The path exists."), {
  httpApiStatus: 409
}) {}

export class PreconditionFailed extends Schema.TaggedError<PreconditionFailed>()(
  "PRECONDITION_FAILED",
  withDetails("The file does not match expectedSha256. Read it again.", {
    actualSha256: Schema.String.annotate({ description: "SHA-256 of the file as it is." })
  }),
  { httpApiStatus: 412 }
) {}

export class PayloadTooLarge extends Schema.TaggedError<PayloadTooLarge>()(
  "PAYLOAD_TOO_LARGE",
  withDetails("The body or the answer is larger than details.limitBytes.", {
    limitBytes: Schema.Int.annotate({ description: "How large it may be." })
  }),
  { httpApiStatus: 413 }
) {}

export class StorageFull extends Schema.TaggedError<StorageFull>()(
  "STORAGE_FULL",
  plain("The Sandbox's volume is full. Remove files first."),
  { httpApiStatus: 413 }
) {}

/** Why an archive was unpacked no further. */
export const archiveReasons = [
  "malformed",
  "truncated",
  "unsafe_name",
  "name_too_long",
  "unsupported_entry",
  "in_the_way",
  "missing_target",
  "too_large",
  "storage_full",
  "not_permitted"
] as const

export class ArchiveIncomplete extends Schema.TaggedError<ArchiveIncomplete>()(
  "ARCHIVE_INCOMPLETE",
  withDetails("The archive was not unpacked to its end; details say why, and how far it came.", {
    reason: Schema.Literals(archiveReasons).annotate({
      description:
        "malformed: it is no tar archive, or not compressed as its Content-Encoding says. truncated: it ends before its end. unsafe_name: a name is absolute, has a .. in it, or leads out of the directory. name_too_long: a name of more than 255 bytes, or a path of more than 4095. unsupported_entry: a device, a fifo, a sparse file. in_the_way: something of another kind is there, such as a directory where the archive has a file, or a symbolic link where it has a directory. missing_target: a hard link to what is not there. too_large: too many entries, or a file that is too large. storage_full: the volume is full. not_permitted: the Sandbox's user has no permission."
    }),
    entries: Schema.Int.annotate({ description: "How many of its entries were done: these are as in the archive." }),
    bytes: Schema.Int.annotate({ description: "Content of the files among them." }),
    lastPath: Schema.NullOr(Schema.String).annotate({
      description:
        "The last entry that was done, as the archive names it, at most its first 1024 characters; null: none was. What stands behind it is as it was before."
    })
  }),
  { httpApiStatus: 409 }
) {}

export class UnsupportedMediaType extends Schema.TaggedError<UnsupportedMediaType>()(
  "UNSUPPORTED_MEDIA_TYPE",
  withDetails("Send the body as the Content-Type in details.expected.", {
    expected: Schema.String.annotate({ description: "The media type that is read here." })
  }),
  { httpApiStatus: 415 }
) {}

export class SandboxLimitReached extends Schema.TaggedError<SandboxLimitReached>()(
  "SANDBOX_LIMIT_REACHED",
  withDetails("The account has as many Sandboxes as it may have, stopped ones included. Delete one first.", {
    limit: Schema.NullOr(Schema.Int).annotate({ description: "How many it may have; null: it is not known any more." })
  }),
  { httpApiStatus: 429 }
) {}

export class StorageLimitReached extends Schema.TaggedError<StorageLimitReached>()(
  "STORAGE_LIMIT_REACHED",
  withDetails("The workspace's storage limit leaves no room for another volume. Delete a Sandbox first.", {
    limitBytes: Schema.NullOr(Schema.Int).annotate({ description: "The limit; null: it is not known any more." })
  }),
  { httpApiStatus: 429 }
) {}

/** Answered with `Retry-After`. */
export class RateLimited extends Schema.TaggedError<RateLimited>()(
  "RATE_LIMITED",
  withDetails("Too many requests. Wait details.retryAfterSeconds, then try again.", {
    retryAfterSeconds: Schema.Finite.annotate({ description: "How long to wait." })
  }),
  { httpApiStatus: 429 }
) {}

/** `unknown`: the request may have been applied; look before you repeat it. Null: it was not. */
const outcomeDetails = Schema.NullOr(
  Schema.Struct({
    outcome: Schema.Literal("unknown").annotate({ description: "It may have been done: look before you repeat it." })
  })
).pipe(Schema.withConstructorDefault(Effect.succeed(null)))

/** Never carries a cause: the log has it, under the request id. */
export class Internal extends Schema.TaggedError<Internal>()(
  "INTERNAL",
  {
    message: Schema.String.pipe(
      Schema.withConstructorDefault(
        Effect.succeed("Something went wrong on our side. Try again; report it with the requestId.")
      )
    ),
    details: outcomeDetails
  },
  { httpApiStatus: 500 }
) {}

export class UnsupportedByRuntime extends Schema.TaggedError<UnsupportedByRuntime>()(
  "UNSUPPORTED_BY_RUNTIME",
  { ...plain(""), message: Schema.String },
  { httpApiStatus: 501 }
) {}

/** `details.status` is the Sandbox's status, null when its host does not answer. */
export class SandboxUnavailable extends Schema.TaggedError<SandboxUnavailable>()(
  "SANDBOX_UNAVAILABLE",
  withDetails("The Sandbox does not run. Start it, then try again.", {
    status: Schema.NullOr(Schema.String).annotate({
      description: "The Sandbox's status; null when its host does not answer."
    }),
    outcome: Schema.optionalKey(
      Schema.Literal("unknown").annotate({ description: "What was asked for may have been done. Absent: nothing was." })
    )
  }),
  { httpApiStatus: 502 }
) {}

/** With `Retry-After`: when to ask again. It does not say that a change with an unknown outcome may be repeated. */
export class ServiceUnavailable extends Schema.TaggedError<ServiceUnavailable>()(
  "SERVICE_UNAVAILABLE",
  {
    message: Schema.String.pipe(
      Schema.withConstructorDefault(
        Effect.succeed("The service cannot reach its database for now. Send the request again in a few seconds.")
      )
    ),
    details: outcomeDetails
  },
  { httpApiStatus: 503 }
) {}

export class RuntimeUnavailable extends Schema.TaggedError<RuntimeUnavailable>()(
  "RUNTIME_UNAVAILABLE",
  plain("The Sandbox does not run, so its files cannot be reached. Start it, then try again."),
  { httpApiStatus: 503 }
) {}

export class PreviewTransportUnavailable extends Schema.TaggedError<PreviewTransportUnavailable>()(
  "PREVIEW_TRANSPORT_UNAVAILABLE",
  plain("The preview cannot reach the Sandbox. Start it, then try again."),
  { httpApiStatus: 503 }
) {}

export class CleanupPending extends Schema.TaggedError<CleanupPending>()(
  "CLEANUP_PENDING",
  plain("The preview's URL is disabled; its cleanup still goes on. Repeat the request to see it end."),
  { httpApiStatus: 503 }
) {}

/** Every class by its code. */
export const errors = {
  INVALID_REQUEST: InvalidRequest,
  INVALID_PATH: InvalidPath,
  NETWORK_DISABLED: NetworkDisabled,
  UNAUTHENTICATED: Unauthenticated,
  CREDIT_EXHAUSTED: CreditExhausted,
  SCOPE_REQUIRED: ScopeRequired,
  ACCOUNT_SUSPENDED: AccountSuspended,
  CROSS_SITE_REQUEST: CrossSiteRequest,
  NOT_FOUND: NotFound,
  METHOD_NOT_ALLOWED: MethodNotAllowed,
  EXECUTION_TIMEOUT: ExecutionTimeout,
  IDEMPOTENCY_CONFLICT: IdempotencyConflict,
  IMAGE_NOT_READY: ImageNotReady,
  IMAGE_IN_USE: ImageInUse,
  IMAGE_UPLOADS_REACHED: ImageUploadsReached,
  IMAGE_LIMIT_REACHED: ImageLimitReached,
  IMAGE_OF_OPERATOR: ImageOfOperator,
  ...snapshotErrors,
  WORKSPACE_QUOTA_EXCEEDED: WorkspaceQuotaExceeded,
  WORKSPACE_NOT_EMPTY: WorkspaceNotEmpty,
  MEMORY_IN_USE: MemoryInUse,
  PREVIEW_EXISTS: PreviewExists,
  CURSOR_STALE: CursorStale,
  TEXT_NOT_FOUND: TextNotFound,
  TEXT_AMBIGUOUS: TextAmbiguous,
  DESTINATION_EXISTS: DestinationExists,
  DIRECTORY_NOT_EMPTY: DirectoryNotEmpty,
  NOT_A_DIRECTORY: NotADirectory,
  IS_A_DIRECTORY: IsADirectory,
  ALREADY_EXISTS: AlreadyExists,
  ARCHIVE_INCOMPLETE: ArchiveIncomplete,
  PRECONDITION_FAILED: PreconditionFailed,
  PAYLOAD_TOO_LARGE: PayloadTooLarge,
  STORAGE_FULL: StorageFull,
  UNSUPPORTED_MEDIA_TYPE: UnsupportedMediaType,
  SANDBOX_LIMIT_REACHED: SandboxLimitReached,
  STORAGE_LIMIT_REACHED: StorageLimitReached,
  RATE_LIMITED: RateLimited,
  INTERNAL: Internal,
  UNSUPPORTED_BY_RUNTIME: UnsupportedByRuntime,
  SANDBOX_UNAVAILABLE: SandboxUnavailable,
  SERVICE_UNAVAILABLE: ServiceUnavailable,
  RUNTIME_UNAVAILABLE: RuntimeUnavailable,
  PREVIEW_TRANSPORT_UNAVAILABLE: PreviewTransportUnavailable,
  CLEANUP_PENDING: CleanupPending
} as const

export type ErrorCode = keyof typeof errors
export type ContractError = InstanceType<(typeof errors)[ErrorCode]>

const resolveStatus = SchemaAST.resolveAt<number>("httpApiStatus")

/** The HTTP status of each code, as its class says. */
export const errorStatus = Object.fromEntries(
  Object.entries(errors).map(([code, error]) => [code, resolveStatus(error.ast) ?? 500])
) as Record<ErrorCode, number>

/** The fields of `details` for a code, or none. */
const detailsOf = (code: ErrorCode): string => {
  if (code === "EXECUTION_TIMEOUT") return "what ExecutionResult held so far"
  if (code === "INTERNAL" || code === "SERVICE_UNAVAILABLE") return "null, or outcome: unknown"
  const { details } = errors[code].fields
  return "fields" in details ? Object.keys(details.fields).join(", ") : ""
}

const codesTable = [
  "| code | status | details |",
  "| --- | --- | --- |",
  ...(Object.keys(errors) as Array<ErrorCode>).map(
    (code) => `| \`${code}\` | ${errorStatus[code]} | ${detailsOf(code)} |`
  )
].join("\n")

const message = Schema.String.annotate({ description: "For people: one sentence that says what to do. It may change." })
const requestId = Schema.String.annotate({ description: "As in X-Request-Id: name it when you report something." })

/** NOT_FOUND: NotFoundError */
export const bodyName = (code: ErrorCode): string =>
  `${code.toLowerCase().replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Error`

/** The wire form of each error. */
const bodies = (Object.keys(errors) as Array<ErrorCode>).map((code) =>
  Schema.Struct({
    code: Schema.Literal(code).annotate({ description: "For programs; it never changes its meaning." }),
    message,
    requestId,
    details: (errors[code].fields.details as Schema.Codec<unknown>).annotate({
      description: detailsOf(code) === "" ? "Nothing." : "What a program needs beside the code."
    })
  }).annotate({ identifier: bodyName(code) })
)

/** The wire form of every error, distinguished by its code. */
export const ErrorBody = Schema.Union(bodies).annotate({
  identifier: "Error",
  description: `The body of every error answer. \`code\` is for programs and never changes its meaning; \`message\` is for people; \`details\` depends on the code and is null for most. Later versions may have more codes: take one that you do not know by its status.\n\n${codesTable}`
})
