// Made by `npm run clients` from version 2.0.0 of the service's OpenAPI description. Not to be edited.

/** The version of the description that these types were made from. */
export const descriptionVersion = "2.0.0"

/** The id of an account. */
export type AccountId = string

/**
 * 403. The account is suspended. Nothing of it is lost; ask the operator of this service to resume it.
 *
 * Cause: The operator suspended the account. All of its data is kept.
 *
 * Next step: Ask the operator to resume the account.
 */
export interface AccountSuspendedError {
  /** For programs; it never changes its meaning. */
  readonly code: "ACCOUNT_SUSPENDED"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/**
 * 409. The path exists.
 *
 * Cause: Something exists at the path.
 *
 * Next step: Choose another path, or send `recursive` true: then a directory that exists is no error.
 */
export interface AlreadyExistsError {
  /** For programs; it never changes its meaning. */
  readonly code: "ALREADY_EXISTS"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/** A Sandbox's analytics. */
export interface AnalyticsResponse {
  readonly analytics: SandboxAnalytics
}

/** The id of an API key, which is not its secret. */
export type ApiKeyId = string

/**
 * 409. The archive was not unpacked to its end; details say why, and how far it came.
 *
 * Cause: The service could not unpack the whole archive. `details.reason` says why, and `details.lastPath` names the
 * last entry that was unpacked.
 *
 * Next step: Correct what `details.reason` names, then send the archive again: entries that are there already are
 * replaced whole.
 */
export interface ArchiveIncompleteError {
  /** For programs; it never changes its meaning. */
  readonly code: "ARCHIVE_INCOMPLETE"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /**
     * malformed: it is no tar archive, or not compressed as its Content-Encoding says. truncated: it ends before its
     * end. unsafe_name: a name is absolute, has a .. in it, or leads out of the directory. name_too_long: a name of
     * more than 255 bytes, or a path of more than 4095. unsupported_entry: a device, a fifo, a sparse file. in_the_way:
     * something of another kind is there, such as a directory where the archive has a file, or a symbolic link where it
     * has a directory. missing_target: a hard link to what is not there. too_large: too many entries, or a file that is
     * too large. storage_full: the volume is full. not_permitted: the Sandbox's user has no permission.
     */
    readonly reason: "malformed" | "truncated" | "unsafe_name" | "name_too_long" | "unsupported_entry" | "in_the_way" | "missing_target" | "too_large" | "storage_full" | "not_permitted"
    /** How many of its entries were done: these are as in the archive. */
    readonly entries: number
    /** Content of the files among them. */
    readonly bytes: number
    /**
     * The last entry that was done, as the archive names it, at most its first 1024 characters; null: none was. What
     * stands behind it is as it was before.
     */
    readonly lastPath: string | null
  }
}

/** One call that changed something or read content. */
export interface AuditEvent {
  /** The event's own id. */
  readonly id: string
  /** When it was answered. */
  readonly at: string
  /** By which way the call came. */
  readonly source: "api" | "console" | "mcp" | "operator"
  /**
   * The endpoint's operationId; openTunnel or openSshSession for a way into a Sandbox; what a person did in the
   * console: register, signIn, signInByLink, signOut, changePassphrase, endSession, createKey, revokeKey, rotateKey;
   * what the operator did: createAccount, suspendAccount, resumeAccount, setAccountLimits, recoverAccount, createKey,
   * revokeKey, grantCredit.
   */
  readonly action: string
  /** null where no API key was used. */
  readonly apiKeyId: ApiKeyId | null
  /** The last 4 characters of the key's secret. */
  readonly keyHint: string | null
  /** The key's name; null where no key was used. */
  readonly keyName: string | null
  /** The HTTP method; SSH for an SSH session, CLI for the operator's command line. */
  readonly method: string
  /**
   * Without the query. What is a capability (a preview id), or no id of its place, is shown as the OpenAPI writes it:
   * {previewId}. Of a command line: the command without its arguments.
   */
  readonly path: string
  /** What the call was about. */
  readonly targetType: "account" | "apiKey" | "workspace" | "sandbox" | "operation" | "process" | "preview" | "serviceAccess" | "connectionGrant" | "snapshot" | "image" | "grant" | "session" | null
  /** Its id, also of what was made; null where there is none (refused), or where it is a capability. */
  readonly targetId: string | null
  /**
   * The answer's; of a tool call over MCP, what the endpoint would have answered. 499: the caller went away before it.
   * 101: a tunnel or a terminal was opened. An operation's own outcome is not in it.
   */
  readonly status: number
  /** `code` of the Error body. */
  readonly errorCode: string | null
  /** As in the X-Request-Id of the answer. */
  readonly requestId: string
  /**
   * The address that the connection came from, or that the operator's proxy says; of the operator's command line, the
   * loopback.
   */
  readonly sourceIp: string
  /** The first 256 characters that the client says of itself; ? for what is not printable ASCII. */
  readonly userAgent: string | null
}

/** Newest first. */
export interface AuditLog {
  /** One page. */
  readonly events: ReadonlyArray<AuditEvent>
  /** Pass it as cursor to get the next page; null at the end. */
  readonly nextCursor: string | null
}

/** What is left of the account's credit. */
export interface Balance {
  /** Of all amounts. */
  readonly currency: "USD"
  /**
   * What is left as of asOf: granted, less what was used and what has expired. Below 0: what an unlimited account has
   * used, or what was used in the grace time.
   */
  readonly microUsd: number
  /**
   * unlimited: nothing is refused. low: less than a day of the present burn, or a tenth of the granted credit, is left.
   * exhausted: nothing is left; see 402.
   */
  readonly status: "unlimited" | "funded" | "low" | "exhausted"
  /** The instant of all of this. */
  readonly asOf: string
  /** What an hour costs as things are. */
  readonly burnMicroUsdPerHour: number
  /** From when on nothing is left, as things are; null: never, or unlimited. */
  readonly exhaustsAt: string | null
  /** Oldest first. */
  readonly grants: ReadonlyArray<CreditGrant>
}

/** Credit, what is left of it, and how long it lasts at the present burn. */
export interface BalanceResponse {
  readonly balance: Balance
}

/** Why no checkpoint was taken. */
export interface CheckpointError {
  /** The code of the error that createSnapshot would have answered. */
  readonly code: string
  /** For people; it may change. */
  readonly message: string
}

/**
 * 503. The preview's URL is disabled; its cleanup still goes on. Repeat the request to see it end.
 *
 * Cause: The URL of the preview no longer works, but the service has not yet removed everything behind it.
 *
 * Next step: Repeat the call until it succeeds.
 */
export interface CleanupPendingError {
  /** For programs; it never changes its meaning. */
  readonly code: "CLEANUP_PENDING"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/** The public keys that may connect. */
export interface CooperativeConnectionKeys {
  /** One line each, as in authorized_keys. RSA of at least 3072 bits. */
  readonly publicKeys: ReadonlyArray<string>
}

/** How the granted SSH connection is made. */
export interface CooperativeEnvelope {
  readonly endpointId: EndpointId
  /** Where to connect to. */
  readonly host: string
  /** The SSH port there. */
  readonly port: number
  /** Whom to sign in as. */
  readonly username: string
  /** The server's host key: one OpenSSH public-key line. */
  readonly hostKey: string
  /** Until then a connection may be opened; one that is open goes on. */
  readonly expiresAt: string
}

/** What is known of the grant that was revoked. */
export interface CooperativeRevoke {
  readonly endpointId: EndpointId
  /** Whether what it opened is gone: never confirmed. */
  readonly status: "unconfirmed"
}

/** What one group of a report cost. */
export interface Cost {
  /**
   * The Sandbox's id (an imported snapshot's own), the workspace's id, or the UTC day. Of an image: its own id, and
   * `images` in the place of a workspace.
   */
  readonly key: string
  /** Of the Sandbox or the workspace; null where it has none, and for days. */
  readonly name: string | null
  /** The sum of its components. */
  readonly microUsd: number
  /** Time in status running. */
  readonly sandboxSeconds: number
  /** What it is made of. */
  readonly components: {
    /** vCPUs, while running. */
    readonly vcpuMicroUsd: number
    /** Memory, while running. */
    readonly memoryMicroUsd: number
    /** Volumes, from the first boot to deletion. */
    readonly volumeMicroUsd: number
    /**
     * What snapshots and images store, from when each was ready to its deletion. That of a snapshot counts for the
     * Sandbox that it was taken of, even if that is deleted.
     */
    readonly snapshotMicroUsd: number
  }
}

/** What a window of time cost, as posted to the wallet, in pieces. */
export interface CostReport {
  /** The most expensive first; days in their order. */
  readonly costs: ReadonlyArray<Cost>
  /** The sum of all costs. */
  readonly totalMicroUsd: number
  /** The present cost of an hour; it does not depend on the window. */
  readonly burnMicroUsdPerHour: number
  /** What happened up to here is in it: the end of the window, or now if that is earlier. */
  readonly asOf: string
}

/** An absent body means {}. */
export interface CreateDirectoryRequest {
  /** Makes missing parents too, and is content with a directory that is there already. By default `false`. */
  readonly recursive?: boolean | null | undefined
}

/** Which port to open. */
export interface CreatePreviewRequest {
  /** The port inside the Sandbox; nothing needs to listen there yet. */
  readonly port: number
  /**
   * true: opens it beside previews of other ports, at most 16 in a Sandbox. false: 409 while any preview is open. By
   * default `false`.
   */
  readonly alongside?: boolean | null | undefined
}

/** A Sandbox to make, and in which workspace. */
export interface CreateSandboxRequest {
  /** An own workspace; any other gives 404. */
  readonly workspaceId: string
  /** For people; names need not be unique. Absent or null: none. */
  readonly name?: string | null | undefined
  /**
   * Which kind of runtime it has, for good; one that this server does not offer gives 501. Absent or null: as the
   * operator has chosen.
   */
  readonly runtime?: "vm" | "namespace" | null | undefined
  /**
   * Its sizes; each is within the bounds in `GET /me`, else 400 with the bounds. Absent or null, as each part of it:
   * with a snapshotId as the snapshot has it, else as the operator has chosen.
   */
  readonly profile?: {
    /** Virtual CPUs, in steps of 0.1. */
    readonly vcpus?: number | null | undefined
    /** Memory, in whole MiB. */
    readonly memoryBytes?: number | null | undefined
    /** The size of its volume, in whole MiB. */
    readonly diskBytes?: number | null | undefined
  } | null | undefined
  /** Whether it reaches the internet and can have previews. By default `true`. */
  readonly networkEnabled?: boolean | null | undefined
  /** Pairs of text of your own, by which lists can be filtered. By default `{}`. */
  readonly metadata?: { readonly [name: string]: string } | null | undefined
  /**
   * Variables of every command, terminal and SSH session of it; what a command itself brings wins by name. They are
   * secrets: stored sealed, and answered by name only. At most 65536 bytes of UTF-8 together; values contain no NUL. By
   * default `{}`.
   */
  readonly env?: { readonly [name: string]: string } | null | undefined
  /** What ends it by itself. Absent or null, as each part of it: nothing does. */
  readonly lifetime?: {
    /**
     * It is stopped when it has run for so many seconds, counted from its boot; time that it slept counts, and a later
     * boot starts the count again.
     */
    readonly stopAfterSeconds?: number | null | undefined
    /**
     * It is stopped when it has not been used for so many seconds. A use is a command, a file call, a terminal, and a
     * connection of a preview, a tunnel or SSH, for as long as it lasts. A boot and a waking count as one. So does a
     * restart of the service, which may forget uses before it: it is never stopped sooner, only later; so it is, by up
     * to 15 s, where the service is several processes.
     */
    readonly stopAfterIdleSeconds?: number | null | undefined
    /**
     * It is deleted with its volume when it has been stopped for so many seconds (by its lifetime, by a client, or at
     * the end of the account's credit), or failed for so long. 0: immediately.
     */
    readonly deleteAfterStoppedSeconds?: number | null | undefined
  } | null | undefined
  /** Which snapshots it takes by itself. Absent or null, or with neither everySeconds nor onStop: none. */
  readonly checkpoints?: {
    /**
     * A snapshot is taken whenever it has run for so many seconds since the last such one. The deadline is durable: one
     * that was missed while the service was away is taken once. A Sandbox that sleeps or is stopped takes one at that
     * time if it has run since the last checkpoint, and then none until it runs again.
     */
    readonly everySeconds?: number | null | undefined
    /**
     * Whether a snapshot is taken when it has stopped, if it has run since the last checkpoint. A start that comes
     * meanwhile waits for it. A Sandbox that was started again before it had stopped takes none. By default `false`.
     */
    readonly onStop?: boolean | null | undefined
    /**
     * How many checkpoints that are ready stay: when a newer one is ready, the oldest beyond this number is deleted.
     * Those that a client has changed (name or expiry) neither count nor go. By default `5`.
     */
    readonly keep?: number | null | undefined
  } | null | undefined
  /**
   * An own snapshot that is ready: the volume begins as a copy of it, as large as it was, on its host. Its variables
   * come along; those of `env` win by name. The runtime is the snapshot's. Absent or null: the volume starts empty.
   */
  readonly snapshotId?: SnapshotId | null | undefined
  /**
   * An own image that is ready: it is the root file system, for good, read-only in a namespace but for what is mounted
   * there; in a virtual machine, what commands write there is gone with the next start. Its variables become the
   * Sandbox's; those of `env` win by name. Its working directory, user, entry point and ports mean nothing: commands
   * begin in /workspace. Not together with snapshotId: a snapshot brings the image of its Sandbox along. Absent or
   * null: the host's own root.
   */
  readonly imageId?: ImageId | null | undefined
}

/** A snapshot to take. An absent body means {}. */
export interface CreateSnapshotRequest {
  /** For people; names need not be unique. Absent or null: none. */
  readonly name?: string | null | undefined
  /**
   * true: the memory and the running processes, too, of the same instant. Only of a virtual machine (else 422) that
   * runs or sleeps (else 409). By default `false`.
   */
  readonly memory?: boolean | null | undefined
  /** When it is deleted by itself: an instant in the future. Absent or null: never. */
  readonly expiresAt?: string | null | undefined
}

/** A workspace to make. */
export interface CreateWorkspaceRequest {
  /** For people; names need not be unique. */
  readonly name: string
}

/**
 * 402. The account's credit is used up. Add credit, then try again.
 *
 * Cause: The account's balance is used up, so nothing may be created, started, run or written. Reading, stopping and
 * deleting still work.
 *
 * Next step: `GET /api/v2/usage/balance` shows the balance. Ask the operator for credit.
 */
export interface CreditExhaustedError {
  /** For programs; it never changes its meaning. */
  readonly code: "CREDIT_EXHAUSTED"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/** Credit that was given, and what is left of it. */
export interface CreditGrant {
  /** The id of a grant. */
  readonly id: string
  /** promotional: a gift, which is spent first. purchase: paid for. adjustment: made good by the operator. */
  readonly kind: "promotional" | "purchase" | "adjustment"
  /** How much was given. */
  readonly grantedMicroUsd: number
  /** What is left of it after the last posting; what was used since then is not taken from it yet. */
  readonly remainingMicroUsd: number
  /** The part that expired unspent. */
  readonly expiredMicroUsd: number
  /** From then on it can be spent. */
  readonly effectiveAt: string
  /** From then on it cannot be spent; null: never. */
  readonly expiresAt: string | null
  /**
   * active: something is left, now or from effectiveAt on. used: all of it was spent. expired: what was not spent in
   * time is gone.
   */
  readonly status: "active" | "used" | "expired"
}

/**
 * 403. This did not come from the console's own page. Send the X-Atoll-Csrf that GET /console/api/session gives, from
 * the page's own origin.
 *
 * Cause: The request has the cookie of a console session, but not the token of the console's page: another site may
 * have sent it.
 *
 * Next step: Programs use an API key instead of the cookie. In the console, reload the page.
 */
export interface CrossSiteRequestError {
  /** For programs; it never changes its meaning. */
  readonly code: "CROSS_SITE_REQUEST"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/**
 * 409. The file or directory changed after the cursor was issued. Start again without a cursor.
 *
 * Cause: The file or directory changed after its first page was read, so the next page would not fit.
 *
 * Next step: Read again from the start, without a cursor. The libraries do that for whole files.
 */
export interface CursorStaleError {
  /** For programs; it never changes its meaning. */
  readonly code: "CURSOR_STALE"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/** An event that came and changed nothing. */
export interface DeclinedEvent {
  /** Of the state that did not take it: after this transition, and before the next. */
  readonly revision: number
  /** When it came. */
  readonly at: string
  /** The status that it met. */
  readonly state: string
  readonly event: LoggedEvent
  /** Why the machine refused it; null: the state answered with itself, as a repeated or late cancel is answered. */
  readonly code: string | null
  /** Who or what sent the event. */
  readonly cause: string
  /** Of the request that sent it; null where none did. */
  readonly requestId: string | null
}

/** In the order in which they came. */
export interface DeclinedEventList {
  /** Those that are kept. */
  readonly declined: ReadonlyArray<DeclinedEvent>
  /** There were more: the first 100 are kept. */
  readonly truncated: boolean
}

/**
 * 409. The destination exists. Send overwrite true to replace it.
 *
 * Cause: The destination of the rename exists.
 *
 * Next step: Choose another name, or send `overwrite` true.
 */
export interface DestinationExistsError {
  /** For programs; it never changes its meaning. */
  readonly code: "DESTINATION_EXISTS"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/**
 * 409. The directory is not empty.
 *
 * Cause: The directory has entries.
 *
 * Next step: Send `recursive=true` to remove it with its content.
 */
export interface DirectoryNotEmptyError {
  /** For programs; it never changes its meaning. */
  readonly code: "DIRECTORY_NOT_EMPTY"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/** A replacement of text in a file that is as the caller last saw it. */
export interface EditFileRequest {
  /** SHA-256 of the complete file as you last saw it. */
  readonly expectedSha256: string
  /** What is there now. */
  readonly oldText: string
  /** What is to be there instead. */
  readonly newText: string
  /**
   * False: oldText must occur exactly once. True: every occurrence is replaced; they do not overlap. By default
   * `false`.
   */
  readonly replaceAll?: boolean | null | undefined
}

/** The file after the edit. */
export interface EditFileResponse {
  /** The file. */
  readonly path: string
  /** Its size now. */
  readonly sizeBytes: number
  /** SHA-256 of the file now: the expectedSha256 of a next edit. */
  readonly sha256: string
  /** How many occurrences were replaced. */
  readonly replacements: number
}

/** How bytes are written as text. utf8: what is no UTF-8 shows as U+FFFD. base64: exactly. */
export type Encoding = "utf8" | "base64"

/** The id of a grant of SSH connections. */
export type EndpointId = string

/**
 * The body of every error answer. `code` is for programs and never changes its meaning; `message` is for people;
 * `details` depends on the code and is null for most. Later versions may have more codes: take one that you do not know
 * by its status.
 *
 * | code | status | details |
 * | --- | --- | --- |
 * | `INVALID_REQUEST` | 400 | issues |
 * | `INVALID_PATH` | 400 |  |
 * | `NETWORK_DISABLED` | 400 |  |
 * | `UNAUTHENTICATED` | 401 |  |
 * | `CREDIT_EXHAUSTED` | 402 |  |
 * | `SCOPE_REQUIRED` | 403 | scope |
 * | `ACCOUNT_SUSPENDED` | 403 |  |
 * | `CROSS_SITE_REQUEST` | 403 |  |
 * | `NOT_FOUND` | 404 |  |
 * | `METHOD_NOT_ALLOWED` | 405 | allow |
 * | `EXECUTION_TIMEOUT` | 408 | what ExecutionResult held so far |
 * | `IDEMPOTENCY_CONFLICT` | 409 |  |
 * | `IMAGE_NOT_READY` | 409 | status |
 * | `IMAGE_IN_USE` | 409 | sandboxes, snapshots |
 * | `IMAGE_UPLOADS_REACHED` | 429 | limit |
 * | `IMAGE_LIMIT_REACHED` | 429 | limit |
 * | `IMAGE_OF_OPERATOR` | 403 |  |
 * | `SNAPSHOT_NOT_READY` | 409 | status |
 * | `SANDBOX_NOT_CAPTURABLE` | 409 | status |
 * | `SANDBOX_CANNOT_ROLL_BACK` | 409 | status |
 * | `SNAPSHOT_DOES_NOT_FIT` | 409 | differs |
 * | `NO_SNAPSHOT_AT_REVISION` | 409 | oldestRevision |
 * | `MEMORY_NOT_SUPPORTED` | 422 |  |
 * | `SNAPSHOT_LIMIT_REACHED` | 429 | limit |
 * | `WORKSPACE_QUOTA_EXCEEDED` | 409 | limit |
 * | `WORKSPACE_NOT_EMPTY` | 409 | sandboxCount |
 * | `MEMORY_IN_USE` | 409 | usedBytes |
 * | `PREVIEW_EXISTS` | 409 |  |
 * | `CURSOR_STALE` | 409 |  |
 * | `TEXT_NOT_FOUND` | 409 |  |
 * | `TEXT_AMBIGUOUS` | 409 | occurrences |
 * | `DESTINATION_EXISTS` | 409 |  |
 * | `DIRECTORY_NOT_EMPTY` | 409 |  |
 * | `NOT_A_DIRECTORY` | 409 |  |
 * | `IS_A_DIRECTORY` | 409 |  |
 * | `ALREADY_EXISTS` | 409 |  |
 * | `ARCHIVE_INCOMPLETE` | 409 | reason, entries, bytes, lastPath |
 * | `PRECONDITION_FAILED` | 412 | actualSha256 |
 * | `PAYLOAD_TOO_LARGE` | 413 | limitBytes |
 * | `STORAGE_FULL` | 413 |  |
 * | `UNSUPPORTED_MEDIA_TYPE` | 415 | expected |
 * | `SANDBOX_LIMIT_REACHED` | 429 | limit |
 * | `STORAGE_LIMIT_REACHED` | 429 | limitBytes |
 * | `RATE_LIMITED` | 429 | retryAfterSeconds |
 * | `INTERNAL` | 500 | null, or outcome: unknown |
 * | `UNSUPPORTED_BY_RUNTIME` | 501 |  |
 * | `SANDBOX_UNAVAILABLE` | 502 | status, outcome |
 * | `SERVICE_UNAVAILABLE` | 503 | null, or outcome: unknown |
 * | `RUNTIME_UNAVAILABLE` | 503 |  |
 * | `PREVIEW_TRANSPORT_UNAVAILABLE` | 503 |  |
 * | `CLEANUP_PENDING` | 503 |  |
 */
export type Error = InvalidRequestError | InvalidPathError | NetworkDisabledError | UnauthenticatedError | CreditExhaustedError | ScopeRequiredError | AccountSuspendedError | CrossSiteRequestError | NotFoundError | MethodNotAllowedError | ExecutionTimeoutError | IdempotencyConflictError | ImageNotReadyError | ImageInUseError | ImageUploadsReachedError | ImageLimitReachedError | ImageOfOperatorError | SnapshotNotReadyError | SandboxNotCapturableError | SandboxCannotRollBackError | SnapshotDoesNotFitError | NoSnapshotAtRevisionError | MemoryNotSupportedError | SnapshotLimitReachedError | WorkspaceQuotaExceededError | WorkspaceNotEmptyError | MemoryInUseError | PreviewExistsError | CursorStaleError | TextNotFoundError | TextAmbiguousError | DestinationExistsError | DirectoryNotEmptyError | NotADirectoryError | IsADirectoryError | AlreadyExistsError | ArchiveIncompleteError | PreconditionFailedError | PayloadTooLargeError | StorageFullError | UnsupportedMediaTypeError | SandboxLimitReachedError | StorageLimitReachedError | RateLimitedError | InternalError | UnsupportedByRuntimeError | SandboxUnavailableError | ServiceUnavailableError | RuntimeUnavailableError | PreviewTransportUnavailableError | CleanupPendingError

/** A command to run and to wait for. */
export interface ExecuteRequest {
  /** The program and its arguments; no shell is involved. Entries contain no NUL. */
  readonly argv: ReadonlyArray<string>
  /** Where it runs; a directory that exists. By default `"/workspace"`. */
  readonly cwd?: WorkspacePath | null | undefined
  /** Added to the Sandbox's own environment. By default `{}`. */
  readonly env?: { readonly [name: string]: string } | null | undefined
  /** All of its input, in `encoding`, after which the input ends. Absent or null: it is empty. */
  readonly stdin?: string | null | undefined
  /** Of stdin, and of stdout and stderr where they are answered. By default `"utf8"`. */
  readonly encoding?: Encoding | null | undefined
  /**
   * After so long the command is killed, and the answer is 408; a fraction counts, rounded up to a whole millisecond.
   * By default `60`.
   */
  readonly timeoutSeconds?: number | null | undefined
}

/** How a command ended. */
export interface ExecuteResponse {
  readonly result: ExecutionResult
}

/** How a synchronous command ended, and what it wrote. */
export interface ExecutionResult {
  /** Null when a signal ended it. 127: there is no such program; 126: it cannot run. */
  readonly exitCode: number | null
  /**
   * The signal that ended it, by POSIX's name: `SIGTERM`. Real-time signals count from the first: `SIGRTMIN`,
   * `SIGRTMIN+3`. Null when it ended by itself.
   */
  readonly signal: string | null
  /** Why it was killed, where that is known: `OUT_OF_MEMORY`. Null for every other end. */
  readonly reason: Reason | null
  /** What it wrote to its output, in `encoding`. */
  readonly stdout: string
  /** What it wrote to its error output, in `encoding`. */
  readonly stderr: string
  /** It wrote more: each stream keeps its first 1 MiB. */
  readonly stdoutTruncated: boolean
  /** It wrote more: each stream keeps its first 1 MiB. */
  readonly stderrTruncated: boolean
  readonly encoding: Encoding
  /** When it was started. */
  readonly startedAt: string
  /** When it had ended. */
  readonly finishedAt: string
  /** How long it ran, in milliseconds. */
  readonly durationMs: number
}

/**
 * 408. The command did not end in time and was killed. Raise timeoutSeconds, or start an operation.
 *
 * Cause: The command of an execute ran longer than `timeoutSeconds`, and was killed. `details` holds its output so far.
 *
 * Next step: Raise `timeoutSeconds`, or start an operation, which runs independently of the request.
 */
export interface ExecutionTimeoutError {
  /** For programs; it never changes its meaning. */
  readonly code: "EXECUTION_TIMEOUT"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  readonly details: ExecutionResult
}

/** One page, in the file system's own order. */
export interface FileList {
  /** The directory. */
  readonly path: string
  /** What is in it, without . and .. */
  readonly entries: ReadonlyArray<FileStat>
  /** Pass it as cursor to get the next page; null at the end. */
  readonly nextCursor: string | null
}

/**
 * /workspace, or a path below it without empty, . or .. segments. A byte of a name that is not UTF-8 is written as the
 * character U+10FE00 + byte, here and in answers.
 */
export type FilePath = string

/** An entry of a directory. */
export interface FileStat {
  /** The last segment; workspace for /workspace itself. */
  readonly name: string
  /** Of the entry itself: a symbolic link is not followed. other: a fifo, socket or device. */
  readonly type: "file" | "directory" | "symlink" | "other"
  /** Of its content; what the file system says of a directory. */
  readonly sizeBytes: number
  /** Permissions as four octal digits, such as 0644. */
  readonly mode: string
  /** When its content last changed. */
  readonly modifiedAt: string
}

/** One file, directory or link. */
export interface FileStatResponse {
  /** The path that was asked for. */
  readonly path: string
  /** The last segment; workspace for /workspace itself. */
  readonly name: string
  /** Of the entry itself: a symbolic link is not followed. other: a fifo, socket or device. */
  readonly type: "file" | "directory" | "symlink" | "other"
  /** Of its content; what the file system says of a directory. */
  readonly sizeBytes: number
  /** Permissions as four octal digits, such as 0644. */
  readonly mode: string
  /** When its content last changed. */
  readonly modifiedAt: string
}

/** How many copies of a Sandbox to make. An absent body means {}. */
export interface ForkRequest {
  /** How many Sandboxes to make, at most 100. By default `1`. */
  readonly count?: number | null | undefined
  /**
   * Their names, in order; null in it: no name. At most `count`; those without an entry are called as the source is.
   */
  readonly names?: ReadonlyArray<string | null> | null | undefined
  /**
   * A revision of the Sandbox's transition log: no snapshot is taken; the newest ready one at or before that revision
   * is used, also of a deleted Sandbox. `missing` says what it does not contain. Not together with expiresAt. Absent or
   * null: a new snapshot of now.
   */
  readonly atRevision?: number | null | undefined
  /**
   * true: with the memory, so that each goes on with the running processes. Only of a virtual machine (else 422) that
   * runs or sleeps (else 409). By default `false`.
   */
  readonly memory?: boolean | null | undefined
  /** Of each. Absent or null: the source's. */
  readonly metadata?: { readonly [name: string]: string } | null | undefined
  /** Of each, as in createSandbox. Absent or null: the source's. */
  readonly lifetime?: {
    /**
     * It is stopped when it has run for so many seconds, counted from its boot; time that it slept counts, and a later
     * boot starts the count again.
     */
    readonly stopAfterSeconds?: number | null | undefined
    /**
     * It is stopped when it has not been used for so many seconds. A use is a command, a file call, a terminal, and a
     * connection of a preview, a tunnel or SSH, for as long as it lasts. A boot and a waking count as one. So does a
     * restart of the service, which may forget uses before it: it is never stopped sooner, only later; so it is, by up
     * to 15 s, where the service is several processes.
     */
    readonly stopAfterIdleSeconds?: number | null | undefined
    /**
     * It is deleted with its volume when it has been stopped for so many seconds (by its lifetime, by a client, or at
     * the end of the account's credit), or failed for so long. 0: immediately.
     */
    readonly deleteAfterStoppedSeconds?: number | null | undefined
  } | null | undefined
  /** When the snapshot is deleted: an instant in the future. Absent or null: 24 hours after this call. */
  readonly expiresAt?: string | null | undefined
}

/** The snapshot of a fork, and the Sandboxes that were made of it. */
export interface ForkResponse {
  readonly snapshot: Snapshot
  /** Those that were made, in order. */
  readonly sandboxes: ReadonlyArray<Sandbox>
  /** Those that were not, in order. */
  readonly refused: ReadonlyArray<RefusedFork>
  /** Of a fork at a revision; else null. */
  readonly missing: MissingInFork | null
}

/**
 * 409. This Idempotency-Key was used with a different request. Use a new key.
 *
 * Cause: The Idempotency-Key already belongs to a request with another body or path.
 *
 * Next step: Use a new key for a new request. Send the same key only to repeat the same request.
 */
export interface IdempotencyConflictError {
  /** For programs; it never changes its meaning. */
  readonly code: "IDEMPOTENCY_CONFLICT"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/** A root file system for Sandboxes, pulled from a registry, uploaded, or built. */
export interface Image {
  readonly id: ImageId
  /** As it was given; null: none was. */
  readonly name: string | null
  /** Where it was pulled from, as it was asked for; null: it was uploaded as an archive, or built. */
  readonly reference: ImageReference | null
  /** Of an image that is built of a Dockerfile; null: of another. */
  readonly build: ImageBuild | null
  /**
   * Whether the operator of the service gives it to all accounts. Such an image costs nothing, counts toward no limit
   * of the account, and no account can delete it. One that the operator gives no longer is `deleting` while a Sandbox
   * or a snapshot has it.
   */
  readonly operator: boolean
  /**
   * sha256:… of the manifest for the architecture of the hosts; null until it is ready. Sandboxes have this one for
   * good: a tag that moves later changes nothing.
   */
  readonly digest: string | null
  readonly status: ImageStatus
  /**
   * Why it has that status; null where nothing is to be said. Of a failed one the code is IMAGE_NOT_FOUND,
   * IMAGE_UNAUTHORIZED, IMAGE_TOO_LARGE, IMAGE_UNSUPPORTED, IMAGE_INVALID, IMAGE_NO_ROOM, IMAGE_ADDRESS_FORBIDDEN,
   * IMAGE_BUILD_FAILED where the build failed, IMAGE_LOST where no host has it any more and no registry had it, or
   * PULL_FAILED where the registry or the host did not answer for too long.
   */
  readonly statusReason: Reason | null
  /** Bytes of its files, unpacked. null until it is ready. */
  readonly sizeBytes: number | null
  /** Bytes that it occupies on a host. They cost as those of snapshots do. null until it is ready. */
  readonly storedBytes: number | null
  /** When it was accepted. */
  readonly createdAt: string
  /** When a host had it; null: none ever had. */
  readonly readyAt: string | null
  /** When it was deleted; null: it is not. */
  readonly deletedAt: string | null
}

/**
 * Where an image is built: sandboxId is the Sandbox that the service made for it, and deletes when the build is over.
 */
export interface ImageBuild {
  readonly sandboxId: SandboxId
  /** The build's operation in that Sandbox, which stays readable; null: it has not begun. */
  readonly operationId: OperationId | null
  /** The path of the Dockerfile in the context; null: its text was sent. */
  readonly dockerfile: string | null
  /** The stage that was asked for; null: the last one. */
  readonly target: string | null
}

/** The id of an image; ids sort by age. */
export type ImageId = string

/**
 * 409. Sandboxes or snapshots still need the image. Delete them first.
 *
 * Cause: Sandboxes or snapshots that are not deleted have this image. `details` says how many of each.
 *
 * Next step: Delete these Sandboxes and snapshots, and then the image.
 */
export interface ImageInUseError {
  /** For programs; it never changes its meaning. */
  readonly code: "IMAGE_IN_USE"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** Sandboxes that have it. */
    readonly sandboxes: number
    /** Snapshots whose Sandboxes would have it. */
    readonly snapshots: number
  }
}

/**
 * 429. The account has as many images as it may have, failed ones included. Delete one first.
 *
 * Cause: The account has reached its number of images, which is `details.limit`. Failed ones count.
 *
 * Next step: Delete an image that no Sandbox needs.
 */
export interface ImageLimitReachedError {
  /** For programs; it never changes its meaning. */
  readonly code: "IMAGE_LIMIT_REACHED"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** How many it may have. */
    readonly limit: number
  }
}

/** Newest first, those of the operator and deleted ones included; but deleted ones of the operator are not. */
export interface ImageList {
  /** One page. */
  readonly images: ReadonlyArray<Image>
  /** Pass it as cursor to get the next page; null at the end. */
  readonly nextCursor: string | null
}

/**
 * 409. The image is not ready; details.status says what it is.
 *
 * Cause: The image is still being pulled, has failed, or is being deleted. `details.status` has its state.
 *
 * Next step: While it is `pulling`, read it until it is `ready`. A `failed` one says why in `statusReason`: mend that,
 * and pull another one.
 */
export interface ImageNotReadyError {
  /** For programs; it never changes its meaning. */
  readonly code: "IMAGE_NOT_READY"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** The image's status. */
    readonly status: string
  }
}

/**
 * 403. The operator of this service gives this image to all accounts. No account can delete it.
 *
 * Cause: The image is one of those that the operator gives to all accounts. Its `operator` is true.
 *
 * Next step: Leave it: it costs the account nothing. To pull the same reference for the account alone, call POST
 * /images.
 */
export interface ImageOfOperatorError {
  /** For programs; it never changes its meaning. */
  readonly code: "IMAGE_OF_OPERATOR"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/**
 * Registry, repository, and a tag or a digest of it. The registry is always named: there is no default one. Without tag
 * and digest, the tag is `latest`.
 */
export type ImageReference = string

/** One image. */
export interface ImageResponse {
  readonly image: Image
}

/**
 * What it is now. Sandboxes can be made with it while it is ready. building: it is built of its Dockerfile. pulling: a
 * host pulls it, or unpacks the archive that was uploaded or built. failed: it could not be made, or is lost, and
 * statusReason says why.
 */
export type ImageStatus = "building" | "pulling" | "ready" | "failed" | "deleting" | "deleted"

/**
 * 429. The account uploads as many images as it may at a time. Wait until one of them has ended.
 *
 * Cause: The account already uploads as many images as it may at a time.
 *
 * Next step: Wait until one of the uploads has been answered, then send the archive again.
 */
export interface ImageUploadsReachedError {
  /** For programs; it never changes its meaning. */
  readonly code: "IMAGE_UPLOADS_REACHED"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** How many it may upload at a time. */
    readonly limit: number
  }
}

/** A Transition and whose it is, as the event streams tell it. */
export interface InnerTransition {
  /** What took it. */
  readonly kind: "operation" | "preview" | "serviceAccess" | "connectionGrant" | "snapshot"
  /** Whose step it is: an operation's id; a preview's is not its id. */
  readonly actorId: string
  /** The Sandbox that it lived in; empty for a snapshot that was imported. */
  readonly sandboxId: string
  /** 1 for the first, without gaps. */
  readonly revision: number
  /** When it was taken. */
  readonly at: string
  readonly event: LoggedEvent
  /** The status before; null for the first. */
  readonly from: string | null
  /** The status after. */
  readonly to: string
  /** What the step asked the service to do. */
  readonly commands: ReadonlyArray<{
    /** The command's name in the machine. */
    readonly type: string
    /** Its parameters; null where it has none. */
    readonly params: unknown
  }>
  /**
   * What earlier steps asked for that was not done yet when this one was taken; its own commands are pending besides.
   * Null: not known, of a step that an older version of the service took.
   */
  readonly stillPending: ReadonlyArray<{
    /** The step that asked for it. */
    readonly revision: number
    /** Its place among that step's commands, from 0. */
    readonly index: number
  }> | null
  /** Who or what sent the event. */
  readonly cause: string
  /** Of the request that sent it; null where none did. */
  readonly requestId: string | null
}

/**
 * 500. Something went wrong on our side. Try again; report it with the requestId.
 *
 * Cause: The service has a fault. Its log has the cause under the `requestId`.
 *
 * Next step: Repeat the call; with `details.outcome` `unknown`, look first whether the change was made. Give the
 * operator the `requestId`.
 */
export interface InternalError {
  /** For programs; it never changes its meaning. */
  readonly code: "INTERNAL"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** It may have been done: look before you repeat it. */
    readonly outcome: "unknown"
  } | null
}

/**
 * 400. The path is not a safe path under /workspace.
 *
 * Cause: The path leads out of /workspace, is not absolute, or contains NUL.
 *
 * Next step: Send an absolute path below /workspace. The libraries also take relative paths and begin them there.
 */
export interface InvalidPathError {
  /** For programs; it never changes its meaning. */
  readonly code: "INVALID_PATH"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/**
 * 400. The request is not valid; details.issues says what to correct.
 *
 * Cause: A field, parameter or header is missing, unknown or out of range, or the body is not JSON.
 *
 * Next step: Correct what `details.issues` lists: each issue has the path of the field and what is wrong. Nothing was
 * changed.
 */
export interface InvalidRequestError {
  /** For programs; it never changes its meaning. */
  readonly code: "INVALID_REQUEST"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** All that is wrong, up to 20. */
    readonly issues: ReadonlyArray<Issue>
  }
}

/**
 * 409. The path is a directory.
 *
 * Cause: The call needs a file, and the path is a directory.
 *
 * Next step: List the directory, or download it as an archive.
 */
export interface IsADirectoryError {
  /** For programs; it never changes its meaning. */
  readonly code: "IS_A_DIRECTORY"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/** One thing that is wrong with a request. */
export interface Issue {
  /** Where it is: from the body's root, or the name of a header or parameter. Empty: the whole body. */
  readonly path: ReadonlyArray<string | number>
  /** What is wrong, for people. */
  readonly message: string
}

/** The last checkpoint that was due, and what came of it. */
export interface LastCheckpoint {
  /** When it was due. */
  readonly at: string
  /** The snapshot, whose own status says whether it is ready. null: there is none, or none yet. */
  readonly snapshotId: SnapshotId | null
  /** Why there is none: a limit, or the credit. The next one is tried at its time. */
  readonly error: CheckpointError | null
}

/** A Sandbox (sandboxId) that was made of a snapshot of this one. */
export interface LineageChild {
  readonly snapshotId: SnapshotId
  readonly sandboxId: SandboxId
  /** When it was made. */
  readonly createdAt: string
}

/** One step back: a snapshot, and the Sandbox that it was taken of. */
export interface LineageParent {
  readonly snapshotId: SnapshotId
  readonly sandboxId: SandboxId
}

/** A preview without its id and URL, which are its secret. */
export interface ListedPreview {
  /** The port inside the Sandbox. */
  readonly port: number
  /** opening: it is not served yet. closed: by a client, or with its Sandbox. */
  readonly status: "opening" | "active" | "closed" | "expired"
  /** When it was asked for. */
  readonly createdAt: string
  /** When it ends by itself; of one that ended earlier, that instant. */
  readonly expiresAt: string
  /** When its host name stopped working; null: it is open. */
  readonly endedAt: string | null
}

/** What one stream wrote, in one piece. */
export interface LogEntry {
  /** Opaque; the same whenever and however this entry is read. */
  readonly id: string
  /** When it was stored. */
  readonly at: string
  readonly stream: OutputStream
  readonly source: LogSource
  /** The operation that wrote it; null for other sources. */
  readonly operationId: string | null
  /** One stored chunk, at most 64 KiB; bytes that are not UTF-8 show as U+FFFD. */
  readonly text: string
}

/** workload: the Sandbox's own console and init; execute: synchronous commands; process: operations. */
export type LogSource = "workload" | "execute" | "process"

/** What the machine was told, with the event's own fields. */
export interface LoggedEvent {
  /** The event's name in the machine. */
  readonly type: string
}

/** A Sandbox's logs. */
export interface LogsResponse {
  readonly logs: SandboxLogs
}

/** Which preview: a port has at most one that is open. */
export interface LookUpPreviewRequest {
  /** The port inside the Sandbox. */
  readonly port: number
}

/** A state machine as data: its states, events, transitions and commands. */
export interface Machine {
  /** What it is the life of: sandbox, operation, … */
  readonly kind: string
  /** Grows when what is stored of it changes. */
  readonly version: number
  /** What it means, in a sentence. */
  readonly description: string
  /** The name of the state in which it begins. */
  readonly initial: string
  /** All states. */
  readonly states: ReadonlyArray<MachineState>
  /** All that it can be told. */
  readonly events: ReadonlyArray<MachinePart>
  /** In the order in which they are tried. */
  readonly transitions: ReadonlyArray<MachineTransition>
  /** The conditions of transitions. */
  readonly guards: ReadonlyArray<MachinePart>
  /** What it can ask the service to do. */
  readonly commands: ReadonlyArray<MachinePart>
  /** Where each state, edge and label stands, in SVG user units from the upper left corner. */
  readonly drawing: { readonly [name: string]: unknown }
  /** The same for a smaller diagram, which has only the names of states and events. */
  readonly overview: { readonly [name: string]: unknown }
}

/** Something that the service is asked to do. */
export interface MachineCommand {
  /** The name of the command. */
  readonly name: string
  /** The named deadline that `schedule` sets and `unschedule` forgets; null of other commands. */
  readonly deadline: string | null
}

/** How the machines are told; json by default. */
export type MachineFormat = "json" | "mermaid"

/** The state machines of this API. */
export interface MachineList {
  /** All of the service's machines, in the format that was asked for. */
  readonly machines: ReadonlyArray<Machine> | ReadonlyArray<MermaidMachine>
}

/** An event, a guard or a command, and what it means. */
export interface MachinePart {
  /** The name of the event, guard or command. */
  readonly name: string
  /** What it means, in a sentence. */
  readonly description: string
}

/** One state, and what it says of events that it has no transition for. */
export interface MachineState {
  /** The name of the state. */
  readonly name: string
  /** What it means, in a sentence. */
  readonly description: string
  /** Nothing leads out of it. */
  readonly isFinal: boolean
  /** The service selects states by these tags. */
  readonly tags: ReadonlyArray<string>
  /** What is done when it is entered. */
  readonly entry: ReadonlyArray<MachineCommand>
  /** What is done when it is left. */
  readonly exit: ReadonlyArray<MachineCommand>
  /** Events that it answers with itself. */
  readonly unchanged: ReadonlyArray<string>
  /** Events that it refuses, also those whose guards all say no, with the reason's code. */
  readonly refuses: { readonly [name: string]: string }
}

/** From which state an event leads where, and what it asks for. */
export interface MachineTransition {
  /** `from.EVENT.index`; those of one event are tried in order. */
  readonly id: string
  /** The name of the state in which it is tried. */
  readonly from: string
  /** The name of the event. */
  readonly event: string
  /** Which must say yes; null: none is asked. */
  readonly guard: string | null
  /** Null: it stays in the state, and does not enter it again. */
  readonly to: string | null
  /** What is done on the way. */
  readonly commands: ReadonlyArray<MachineCommand>
  /** Actions that only note something in the context. */
  readonly notes: ReadonlyArray<string>
  /** What it means, in a sentence. */
  readonly description: string
}

/** The account, and the API key that asks. */
export interface Me {
  /** Whose key this is. */
  readonly account: {
    readonly id: AccountId
    /** As the operator or who registered named it. */
    readonly name: string
    /** The e-mail address of the account; null if it has none. */
    readonly email: string | null
    /** When it was made. */
    readonly createdAt: string
  }
  /** null where a session of the console asks. */
  readonly apiKey: {
    readonly id: ApiKeyId
    /** As it was named when it was made. */
    readonly name: string
    /** The last 4 characters of the secret. */
    readonly hint: string
    /** What it may do. */
    readonly scopes: ReadonlyArray<Scope>
    /** When it was made. */
    readonly createdAt: string
    /** The key's last use, of which this request is one. */
    readonly lastUsedAt: string | null
  } | null
  /** How much the account may have. */
  readonly limits: {
    /** Most workspaces of the account. */
    readonly workspaces: number
    /** Most Sandboxes of the account, stopped ones included. */
    readonly sandboxes: number
    /** Most that the volumes of one workspace are together. */
    readonly workspaceStorageBytes: number
    readonly profile: ProfileBounds
  }
}

/**
 * 409. The Sandbox has more memory in use. End processes in it, or stop it before it gets less.
 *
 * Cause: PATCH asks for less memory than the running Sandbox has in use; details.usedBytes says how much that is.
 *
 * Next step: End processes in it, or stop it first: at its next start it has the memory that you asked for.
 */
export interface MemoryInUseError {
  /** For programs; it never changes its meaning. */
  readonly code: "MEMORY_IN_USE"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** How much memory it has in use. */
    readonly usedBytes: number
  }
}

/**
 * 422. The runtime of this Sandbox cannot keep memory and processes in a snapshot. Send memory false.
 *
 * Cause: The request asks for a snapshot with memory and processes, which the runtime of the Sandbox cannot take: only
 * virtual machines can, on QEMU 8.2 or newer.
 *
 * Next step: Send `memory` false, or leave it out: the snapshot has the volume.
 */
export interface MemoryNotSupportedError {
  /** For programs; it never changes its meaning. */
  readonly code: "MEMORY_NOT_SUPPORTED"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/** A state machine as a Mermaid diagram. */
export interface MermaidMachine {
  /** What it is the life of: sandbox, operation, … */
  readonly kind: string
  /** Grows when what is stored of it changes. */
  readonly version: number
  /** A Mermaid state diagram. */
  readonly mermaid: string
}

/** The caller's own pairs of text, by which lists can be filtered. */
export type Metadata = { readonly [name: string]: string }

/**
 * 405. This path does not have that method; the Allow header lists those that it has.
 *
 * Cause: The path exists, but does not take this method.
 *
 * Next step: Use a method of the header `Allow`, which `details.allow` repeats.
 */
export interface MethodNotAllowedError {
  /** For programs; it never changes its meaning. */
  readonly code: "METHOD_NOT_ALLOWED"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** The methods that the path has. */
    readonly allow: ReadonlyArray<string>
  }
}

/** What happened in the Sandbox up to atRevision and is not in the snapshot. */
export interface MissingInFork {
  /** Transitions of the Sandbox after the snapshot's revision, up to atRevision. */
  readonly transitions: number
  /**
   * Operations that began or ended after the snapshot was asked for, and before the Sandbox's next revision after
   * atRevision: the newest 100, newest first, of those whose records are kept.
   */
  readonly operations: ReadonlyArray<OperationId>
  /** How many such operations there are. */
  readonly operationCount: number
}

/**
 * 400. This Sandbox has no network. Create one with networkEnabled true.
 *
 * Cause: The Sandbox was created with `networkEnabled` false. That never changes.
 *
 * Next step: Create another Sandbox without that field.
 */
export interface NetworkDisabledError {
  /** For programs; it never changes its meaning. */
  readonly code: "NETWORK_DISABLED"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/**
 * 409. No snapshot of this Sandbox that is ready was taken at that revision or before it. Take a later one;
 * details.oldestRevision is the oldest that has one.
 *
 * Cause: The Sandbox has no ready snapshot that was taken at `atRevision` or before it.
 *
 * Next step: Send an `atRevision` of at least `details.oldestRevision`, or leave it out: the fork begins from a new
 * snapshot. `checkpoints` of a Sandbox take snapshots by themselves.
 */
export interface NoSnapshotAtRevisionError {
  /** For programs; it never changes its meaning. */
  readonly code: "NO_SNAPSHOT_AT_REVISION"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** The lowest sandboxRevision of its ready snapshots; null: it has none. */
    readonly oldestRevision: number | null
  }
}

/**
 * 409. The path is not a directory.
 *
 * Cause: The call needs a directory, and the path, or a part of it, is a file.
 *
 * Next step: Look at the path with `GET …/files/stat`.
 */
export interface NotADirectoryError {
  /** For programs; it never changes its meaning. */
  readonly code: "NOT_A_DIRECTORY"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/**
 * 404. There is no such resource in this account.
 *
 * Cause: The path does not exist, or the id names nothing in this account. Things of other accounts look the same.
 *
 * Next step: Compare the id with the list of its kind. For a file, list its directory.
 */
export interface NotFoundError {
  /** For programs; it never changes its meaning. */
  readonly code: "NOT_FOUND"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/** A command that runs independently of the request that started it, and its result. */
export interface Operation {
  readonly id: OperationId
  readonly sandboxId: SandboxId
  /**
   * queued: accepted, and it waits for its turn. completed, cancelled and failed are terminal and immutable. A non-zero
   * exit is completed. failed: the outcome is unknown, it never ran, or its time-out passed; reason says which.
   */
  readonly status: "queued" | "running" | "completed" | "cancelled" | "failed"
  /** The program and its arguments. */
  readonly argv: ReadonlyArray<string>
  /** Where it runs. */
  readonly cwd: string
  /**
   * Only of a completed operation, and null where a signal ended it. Always null of a cancelled or failed one, also
   * when its program handled the signal and ended by itself afterwards: its result was final before that.
   */
  readonly exitCode: number | null
  /**
   * The signal that ended it, by POSIX's name: `SIGTERM`. Real-time signals count from the first: `SIGRTMIN`,
   * `SIGRTMIN+3`. Null when it ended by itself.
   */
  readonly signal: string | null
  /**
   * Of every failed operation; of a completed one only `OUT_OF_MEMORY`: the command was killed because the Sandbox's
   * memory was used up.
   */
  readonly reason: Reason | null
  /** When it was accepted. */
  readonly createdAt: string
  /** When its command was started; null: not yet, or never. */
  readonly startedAt: string | null
  /** When its status became terminal; null: not yet. */
  readonly finishedAt: string | null
  /** Bytes ever stored of each stream. */
  readonly output: {
    /** Of stdout. */
    readonly stdoutBytes: number
    /** Of stderr. */
    readonly stderrBytes: number
  }
  /**
   * What is left of the command's processes; may settle after the terminal status. unconfirmed: the service does not
   * know. That also holds for a queued operation: its command is not known to have started.
   */
  readonly processTree: "running" | "gone" | "unconfirmed"
}

/** The id of an operation. */
export type OperationId = string

/** Newest first. */
export interface OperationList {
  /** One page. */
  readonly operations: ReadonlyArray<Operation>
  /** Pass it as cursor to get the next page; null at the end. */
  readonly nextCursor: string | null
}

/** A range of one stream of an operation. */
export interface OperationOutputChunk {
  readonly stream: OutputStream
  /** Absolute offset of the first byte of data. */
  readonly offset: number
  /** Ask for this offset next. */
  readonly nextOffset: number
  /** The bytes, in base64. */
  readonly data: string
  /** Of data. */
  readonly encoding: "base64"
  /** Earlier bytes that were asked for are no longer retained. */
  readonly truncated: boolean
  /** The operation is terminal and all of this stream was read. */
  readonly eof: boolean
}

/** One operation. */
export interface OperationResponse {
  readonly operation: Operation
}

/** Which of a command's two streams. */
export type OutputStream = "stdout" | "stderr"

/**
 * 413. The body or the answer is larger than details.limitBytes.
 *
 * Cause: The body, or the answer, is larger than `details.limitBytes`.
 *
 * Next step: Send larger files as an archive, and read them in pieces: `maxBytes` and the cursor. The libraries do
 * both.
 */
export interface PayloadTooLargeError {
  /** For programs; it never changes its meaning. */
  readonly code: "PAYLOAD_TOO_LARGE"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** How large it may be. */
    readonly limitBytes: number
  }
}

/**
 * 412. The file does not match expectedSha256. Read it again.
 *
 * Cause: The file is not the one that `expectedSha256` describes: somebody changed it.
 *
 * Next step: Read the file again, make the edit for its present content, and send its present SHA-256.
 */
export interface PreconditionFailedError {
  /** For programs; it never changes its meaning. */
  readonly code: "PRECONDITION_FAILED"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** SHA-256 of the file as it is. */
    readonly actualSha256: string
  }
}

/** A port of a Sandbox under a separate host name. */
export interface Preview {
  readonly id: PreviewId
  readonly sandboxId: SandboxId
  /** The port inside the Sandbox. */
  readonly port: number
  /** The address to open in a browser. Everyone who knows it can use it. */
  readonly url: string
  /** The URL's host name. */
  readonly hostname: string
  /** active: it is served. closed: by a client, or with its Sandbox. expired: its hour is over. */
  readonly status: "active" | "closed" | "expired"
  /** When it was asked for. */
  readonly createdAt: string
  /** When it ends by itself. */
  readonly expiresAt: string
}

/**
 * 409. A preview is open. Send alongside true for another port beside it, or close it: DELETE …/previews.
 *
 * Cause: The Sandbox has an open preview, and the request does not ask for another port beside it.
 *
 * Next step: Send `alongside: true` for another port, read the address of the open one with `POST …/previews/lookup`,
 * or close it: `DELETE …/previews` needs no id.
 */
export interface PreviewExistsError {
  /** For programs; it never changes its meaning. */
  readonly code: "PREVIEW_EXISTS"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/** A capability: shown when the preview is created, and never again. */
export type PreviewId = string

/** The previews of a Sandbox, without their secrets. */
export interface PreviewList {
  /** Newest first, at most 100. Ids and URLs are not in it: they are what lets one in. */
  readonly previews: ReadonlyArray<ListedPreview>
}

/** An open preview, with its secret. */
export interface PreviewResponse {
  readonly preview: Preview
}

/**
 * 503. The preview cannot reach the Sandbox. Start it, then try again.
 *
 * Cause: The service cannot connect to the Sandbox of the preview.
 *
 * Next step: Start the Sandbox, then repeat the call.
 */
export interface PreviewTransportUnavailableError {
  /** For programs; it never changes its meaning. */
  readonly code: "PREVIEW_TRANSPORT_UNAVAILABLE"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/** One process in a Sandbox. */
export interface Process {
  readonly id: ProcessId
  /** As the Sandbox's programs see it. */
  readonly pid: number
  /** 1 or 0 when what started it has ended. */
  readonly parentPid: number
  /** The first 512 bytes of its command line; its name in brackets where it has none. */
  readonly argv: ReadonlyArray<string>
  /** Whose it is, as the Sandbox names users; null where its agent is of an earlier version. */
  readonly user: string | null
  /**
   * The kind of call that started it or its ancestors, also when the ancestor has ended: a process that an execute left
   * in the background is still of `execute`. Null: not known. A program that a preview or a tunnel reaches belongs to
   * the call that started it.
   */
  readonly startedBy: StartedBy | null
  /** The operation, where `startedBy` is one. */
  readonly operationId: OperationId | null
  /** zombie: it has ended, and its parent has not asked for its outcome. */
  readonly state: "running" | "sleeping" | "stopped" | "zombie"
  /** When it was started. */
  readonly startedAt: string
  /** Processor time that it has used. */
  readonly cpuSeconds: number
  /** Resident memory. */
  readonly memoryBytes: number
}

/** The id of a process; opaque. */
export type ProcessId = string

/** What runs in a Sandbox. */
export interface ProcessList {
  /** By pid. */
  readonly processes: ReadonlyArray<Process>
  /** There are more than the 2,048 that are shown. */
  readonly truncated: boolean
}

/** The sizes that a Sandbox may have. */
export interface ProfileBounds {
  /** Virtual CPUs. */
  readonly vcpus: {
    /** The least that a request may name. */
    readonly minimum: number
    /** The most that a request may name. */
    readonly maximum: number
    /** For a request that names none. */
    readonly default: number
  }
  /** Memory. */
  readonly memoryBytes: {
    /** The least that a request may name. */
    readonly minimum: number
    /** The most that a request may name. */
    readonly maximum: number
    /** For a request that names none. */
    readonly default: number
  }
  /** The size of a volume. */
  readonly diskBytes: {
    /** The least that a request may name. */
    readonly minimum: number
    /** The most that a request may name. */
    readonly maximum: number
    /** For a request that names none. */
    readonly default: number
  }
}

/** An image to pull, or to build of a Dockerfile. */
export interface PullImageRequest {
  /** For people; names need not be unique. Absent or null: none. */
  readonly name?: string | null | undefined
  /** Of an image to pull. Either this or `dockerfile`. */
  readonly reference?: ImageReference | null | undefined
  /** For the registry, together with `password`. Absent or null: it is asked without. */
  readonly username?: string | null | undefined
  /**
   * Or an access token. It is stored sealed, never answered, and sent to that registry only. It is forgotten with the
   * image.
   */
  readonly password?: string | null | undefined
  /** The text of a Dockerfile of which the image is built, at most 65536 bytes. Either this or `reference`. */
  readonly dockerfile?: string | null | undefined
  /**
   * An own snapshot that is ready, without memory: its /workspace is the context. Absent or null: the context is empty.
   */
  readonly contextSnapshotId?: SnapshotId | null | undefined
  /** The stage to build, by name or number. Absent or null: the last one. */
  readonly target?: string | null | undefined
  /**
   * Values of the Dockerfile's ARG, by name; at most 64. They are no secrets: the build's operation shows them, and so
   * may the image's history.
   */
  readonly buildArgs?: { readonly [name: string]: string } | null | undefined
  /** With dockerfile: the host of the registry that `username` and `password` are for. */
  readonly registry?: string | null | undefined
  /**
   * The own workspace that the build's Sandbox is in. Absent or null: that of the snapshot, else the account's oldest
   * one.
   */
  readonly workspaceId?: string | null | undefined
  /** The sizes of the build's Sandbox, as for a create. Layers, the context and the image need room on its volume. */
  readonly profile?: {
    /** Virtual CPUs, in steps of 0.1. */
    readonly vcpus?: number | null | undefined
    /** Memory, in whole MiB. */
    readonly memoryBytes?: number | null | undefined
    /** The size of its volume, in whole MiB. */
    readonly diskBytes?: number | null | undefined
  } | null | undefined
}

/**
 * 429. Too many requests. Wait details.retryAfterSeconds, then try again.
 *
 * Cause: The account, or the address, sent too many requests of this kind.
 *
 * Next step: Wait for the seconds of the header `Retry-After`, then repeat the call. The libraries do that.
 */
export interface RateLimitedError {
  /** For programs; it never changes its meaning. */
  readonly code: "RATE_LIMITED"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** How long to wait. */
    readonly retryAfterSeconds: number
  }
}

/** Why something is as it is: a code for programs, a sentence for people. */
export interface Reason {
  /** For programs. */
  readonly code: string
  /** For people; it may change. */
  readonly message: string
}

/** One Sandbox of a fork that was not made. */
export interface RefusedFork {
  /** Which of them, from 0. */
  readonly index: number
  /** The code of the error that createSandbox would have answered. */
  readonly code: string
  /** For people; it may change. */
  readonly message: string
}

/** Where to move it. */
export interface RenameFileRequest {
  readonly destination: FilePath
  /** Atomically replaces a destination that exists; otherwise it is 409. By default `false`. */
  readonly overwrite?: boolean | null | undefined
}

/** Its new name. */
export interface RenameWorkspaceRequest {
  /** For people; names need not be unique. */
  readonly name: string
}

/** What a Sandbox used in one bucket. */
export interface ResourceSample {
  /** The begin of the bucket. */
  readonly at: string
  /** CPU time used within the bucket. Null: not measured. */
  readonly cpuSeconds: number | null
  /** Mean memory in use. Null: not measured. */
  readonly memoryBytes: number | null
  /** Volume in use at the bucket's last sample. Null: not measured. */
  readonly volumeBytes: number | null
  /** Bytes received within the bucket. Null: not measured. */
  readonly networkRxBytes: number | null
  /** Bytes sent within the bucket. Null: not measured. */
  readonly networkTxBytes: number | null
}

/**
 * Whose volume, and memory where it has that, a Sandbox shall have: an own snapshot that is ready, of the Sandbox's
 * workspace and runtime, and not larger than its volume. It need not be of this Sandbox.
 */
export interface RollbackRequest {
  readonly snapshotId: SnapshotId
  /**
   * true: the present volume becomes a snapshot first, which is deleted after 24 hours. false: it is given up; that
   * needs the scope `sandbox:delete`, too. By default `true`.
   */
  readonly keep?: boolean | null | undefined
}

/** A Sandbox that is being rolled back, and the snapshot of its volume before. */
export interface RollbackResponse {
  readonly sandbox: Sandbox
  /** What the volume before becomes: `creating` until the Sandbox has stopped. null with keep false. */
  readonly kept: Snapshot | null
}

/**
 * 503. The Sandbox does not run, so its files cannot be reached. Start it, then try again.
 *
 * Cause: The Sandbox does not run, so its files cannot be reached.
 *
 * Next step: Start the Sandbox, then repeat the call.
 */
export interface RuntimeUnavailableError {
  /** For programs; it never changes its meaning. */
  readonly code: "RUNTIME_UNAVAILABLE"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/** An isolated compute environment: a volume that stays, and a runtime that boots, stops and boots again. */
export interface Sandbox {
  readonly id: SandboxId
  readonly workspaceId: WorkspaceId
  /** As it was given; null: none was. */
  readonly name: string | null
  /** vm: a virtual machine. namespace: Linux namespaces on the host's kernel. Always what it really is. */
  readonly runtime: "vm" | "namespace"
  readonly profile: SandboxProfile
  readonly status: SandboxStatus
  /** Why it has that status; null where nothing is to be said. */
  readonly statusReason: Reason | null
  /** Whether it reaches the internet and can have previews. */
  readonly networkEnabled: boolean
  readonly volume: SandboxVolume
  /** The snapshot of which its volume was made, which may be deleted meanwhile; null: it started empty. */
  readonly snapshotId: SnapshotId | null
  /** The image that is its root file system; null: its host's own. */
  readonly imageId: ImageId | null
  /**
   * The image that is built in it: the service made it for that, and deletes it when the build is over. null: an
   * ordinary Sandbox.
   */
  readonly buildsImageId: ImageId | null
  /** 1 for the first boot, +1 for each later boot, and for a rollback that leaves it stopped. */
  readonly generation: number
  /** The last rollback; null: it never had one. */
  readonly rollback: SandboxRollback | null
  readonly metadata: Metadata
  /** The names of the variables that every command is given, sorted. Their values are never told. */
  readonly envNames: ReadonlyArray<string>
  readonly lifetime: SandboxLifetime
  /** null: it takes no snapshots by itself. */
  readonly checkpoints: SandboxCheckpoints | null
  /** null: none was due yet. */
  readonly lastCheckpoint: LastCheckpoint | null
  /** When it was accepted. */
  readonly createdAt: string
  /** When its status last changed, or another start or stop was accepted while it was stopping. */
  readonly updatedAt: string
  /** When it last came to run; null: never yet. */
  readonly startedAt: string | null
  /** When it last stopped; null: never yet. */
  readonly stoppedAt: string | null
  /** When it was deleted; null: it is not. */
  readonly deletedAt: string | null
}

/** What one Sandbox did and used within a window. */
export interface SandboxAnalytics {
  /** The Sandbox. */
  readonly sandboxId: string
  /** The begin of the window. */
  readonly from: string
  /** The end of the window, exclusive. */
  readonly to: string
  /** Length of one bucket. */
  readonly resolutionSeconds: number
  /** The one boot that it is of; null: all. */
  readonly generation: number | null
  /** What became of the Sandbox. */
  readonly lifecycle: {
    /** When the Sandbox was accepted. */
    readonly createdAt: string
    /** When it was deleted; null: it is not. */
    readonly deletedAt: string | null
    /** Generations that came up within the window. */
    readonly boots: number
    /** Time in status running within the window. */
    readonly runningSeconds: number
    /** Status changes within the window; the newest 10,000. */
    readonly transitions: ReadonlyArray<{
      /** When it changed. */
      readonly at: string
      /** The status before; null for the first. */
      readonly from: string | null
      /** The status after. */
      readonly to: string
      /** The code of the reason; null where there is none. */
      readonly reason: string | null
    }>
  }
  /** What was run in it. */
  readonly operations: {
    /** Operations that were started within the window. */
    readonly started: number
    /** Of these, completed by now. */
    readonly completed: number
    /** Of these, cancelled. */
    readonly cancelled: number
    /** Of these, failed. */
    readonly failed: number
    /** Synchronous commands within the window. */
    readonly executeCount: number
    /** Of completed operations and executes. */
    readonly medianDurationMs: number | null
    /** Of them, too: 99 of 100 took no longer. */
    readonly p99DurationMs: number | null
  }
  /** What it used. */
  readonly resources: {
    /** Every bucket of the window, oldest first. */
    readonly samples: ReadonlyArray<ResourceSample>
  }
}

/**
 * 409. A Sandbox can be rolled back while it runs, sleeps or is stopped; this one does not.
 *
 * Cause: The Sandbox boots, is being stopped, rolled back or deleted, or its first boot failed. `details.status` has
 * its state.
 *
 * Next step: Repeat the call once the Sandbox runs, sleeps or is stopped.
 */
export interface SandboxCannotRollBackError {
  /** For programs; it never changes its meaning. */
  readonly code: "SANDBOX_CANNOT_ROLL_BACK"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** The Sandbox's status. */
    readonly status: string
  }
}

/**
 * Which snapshots it takes by itself (`checkpoint: true`). They count toward the limits and cost as any; they are
 * deleted with the Sandbox, except those that a client has changed (name or expiry).
 */
export interface SandboxCheckpoints {
  /**
   * A snapshot is taken whenever it has run for so many seconds since the last such one. The deadline is durable: one
   * that was missed while the service was away is taken once. A Sandbox that sleeps or is stopped takes one at that
   * time if it has run since the last checkpoint, and then none until it runs again. null: none by time.
   */
  readonly everySeconds: number | null
  /**
   * Whether a snapshot is taken when it has stopped, if it has run since the last checkpoint. A start that comes
   * meanwhile waits for it. A Sandbox that was started again before it had stopped takes none.
   */
  readonly onStop: boolean
  /**
   * How many checkpoints that are ready stay: when a newer one is ready, the oldest beyond this number is deleted.
   * Those that a client has changed (name or expiry) neither count nor go.
   */
  readonly keep: number
  /**
   * When the next one is due; of a Sandbox that boots or stops then, when it has done so. null: none is due before it
   * runs again, or everySeconds is null.
   */
  readonly nextAt: string | null
}

/** Thing by thing, the newest first, and each with its log from its beginning. */
export interface SandboxHistory {
  /** One page. */
  readonly transitions: ReadonlyArray<InnerTransition>
  /** Pass it as cursor to get the next page; null at the end. */
  readonly nextCursor: string | null
}

/** The id of a Sandbox; ids sort by age. */
export type SandboxId = string

/**
 * What ends it by itself, and when. The deadlines are durable: a restart of the service moves none but idleStopAt. A
 * Sandbox that was stopped so says it in statusReason: `LIFETIME_ENDED`, `IDLE_TOO_LONG`.
 */
export interface SandboxLifetime {
  /**
   * It is stopped when it has run for so many seconds, counted from its boot; time that it slept counts, and a later
   * boot starts the count again. null: never.
   */
  readonly stopAfterSeconds: number | null
  /**
   * It is stopped when it has not been used for so many seconds. A use is a command, a file call, a terminal, and a
   * connection of a preview, a tunnel or SSH, for as long as it lasts. A boot and a waking count as one. So does a
   * restart of the service, which may forget uses before it: it is never stopped sooner, only later; so it is, by up to
   * 15 s, where the service is several processes. null: never.
   */
  readonly stopAfterIdleSeconds: number | null
  /**
   * It is deleted with its volume when it has been stopped for so many seconds (by its lifetime, by a client, or at the
   * end of the account's credit), or failed for so long. 0: immediately. null: never.
   */
  readonly deleteAfterStoppedSeconds: number | null
  /** When stopAfterSeconds stops it; null while it does not run or sleep, or where nothing is set. */
  readonly stopAt: string | null
  /**
   * When stopAfterIdleSeconds stops it at the earliest: it is then looked at, and where it was used since, this moves
   * on. null while it does not run or sleep, or where nothing is set.
   */
  readonly idleStopAt: string | null
  /**
   * When deleteAfterStoppedSeconds deletes it; null while it is neither stopped nor failed, or where nothing is set.
   */
  readonly deleteAt: string | null
}

/**
 * 429. The account has as many Sandboxes as it may have, stopped ones included. Delete one first.
 *
 * Cause: The account has reached its number of Sandboxes. Stopped Sandboxes count.
 *
 * Next step: Delete a Sandbox, or ask the operator for a higher limit. A `lifetime` deletes Sandboxes that are no
 * longer used.
 */
export interface SandboxLimitReachedError {
  /** For programs; it never changes its meaning. */
  readonly code: "SANDBOX_LIMIT_REACHED"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** How many it may have; null: it is not known any more. */
    readonly limit: number | null
  }
}

/** From which Sandboxes one comes, and which come from it: each over a snapshot. */
export interface SandboxLineage {
  /** Nearest first, at most 100. They end where a record is no longer kept. */
  readonly parents: ReadonlyArray<LineageParent>
  /** One page, newest first, deleted ones included. */
  readonly children: ReadonlyArray<LineageChild>
  /** Pass it as cursor to get the next page; null at the end. */
  readonly nextCursor: string | null
}

/** Newest first, deleted ones included. */
export interface SandboxList {
  /** One page, or all where no page was asked for. */
  readonly sandboxes: ReadonlyArray<Sandbox>
  /** Pass it as cursor to get the next page; null at the end. */
  readonly nextCursor: string | null
}

/** Oldest first. */
export interface SandboxLogs {
  /** Those that match. */
  readonly entries: ReadonlyArray<LogEntry>
  /** There are older matches than those that are answered. */
  readonly truncated: boolean
}

/**
 * 409. A snapshot can be taken of a Sandbox that runs, sleeps or is stopped, and with memory of one that runs or
 * sleeps; this one does not.
 *
 * Cause: The Sandbox boots, is being stopped or deleted, or never had a volume. `details.status` has its state.
 *
 * Next step: Repeat the call once the Sandbox runs, sleeps or is stopped.
 */
export interface SandboxNotCapturableError {
  /** For programs; it never changes its meaning. */
  readonly code: "SANDBOX_NOT_CAPTURABLE"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** The Sandbox's status. */
    readonly status: string
  }
}

/** What it is allotted. */
export interface SandboxProfile {
  /** Virtual CPUs, with tenths. */
  readonly vcpus: number
  /** Memory. */
  readonly memoryBytes: number
  /** The size of its volume. */
  readonly diskBytes: number
}

export interface SandboxResponse {
  readonly sandbox: Sandbox
}

/** What became of a Sandbox's last rollback; snapshotId: whose volume it was to get. */
export interface SandboxRollback {
  readonly snapshotId: SnapshotId
  /** What its volume before became, which may be deleted meanwhile; null: that was given up. */
  readonly keptSnapshotId: SnapshotId | null
  /** open: under way. done: the volume is the snapshot's. failed: it is as it was. */
  readonly outcome: "open" | "done" | "failed"
  /** Of one that failed. */
  readonly reason: Reason | null
  /** When it was accepted. */
  readonly requestedAt: string
}

/**
 * What it does now; restoring: its volume is being replaced by a snapshot's. deleted, expired (a limit refused it) and
 * failed are final; stopped and sleeping ones can be started.
 */
export type SandboxStatus = "pending" | "running" | "stopping" | "restoring" | "stopped" | "sleeping" | "deleting" | "deleted" | "expired" | "failed"

/**
 * 502. The Sandbox does not run. Start it, then try again.
 *
 * Cause: The Sandbox does not run, or its host does not answer. `details.status` has its state.
 *
 * Next step: Start it with `POST …/start?wait=running`, or create with `?wait=running`. With `details.outcome`
 * `unknown` the command may have run: look before you repeat it.
 */
export interface SandboxUnavailableError {
  /** For programs; it never changes its meaning. */
  readonly code: "SANDBOX_UNAVAILABLE"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** The Sandbox's status; null when its host does not answer. */
    readonly status: string | null
    /** What was asked for may have been done. Absent: nothing was. */
    readonly outcome?: "unknown" | undefined
  }
}

/** What holds /workspace; it stays when the Sandbox stops. */
export interface SandboxVolume {
  readonly id: VolumeId
  /** Its size, full or empty. */
  readonly sizeBytes: number
}

/** What a key may do; each operation names the one that it needs. */
export type Scope = "workspace:create" | "sandbox:read" | "sandbox:create" | "sandbox:execute" | "sandbox:delete" | "usage:read"

/**
 * 403. This API key lacks a scope. Use a key that has the scope in details.scope.
 *
 * Cause: The API key is valid, but does not have the scope that the call needs.
 *
 * Next step: Use a key with the scope in `details.scope`. The scopes of a key never change, so create another key.
 */
export interface ScopeRequiredError {
  /** For programs; it never changes its meaning. */
  readonly code: "SCOPE_REQUIRED"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    readonly scope: Scope
  }
}

/** What opens the ports. Who has it needs no API key: keep it as a secret. */
export interface ServiceAccessEnvelope {
  /** Sealed: opaque to the caller; bound to the Sandbox, its generation, the ports and the expiry. */
  readonly capability: string
}

/** The caller's own UUID version 4, which was the Idempotency-Key. */
export type ServiceAccessId = string

/** Which ports to open, and when that was asked for. */
export interface ServiceAccessRequest {
  /** Within 60 s of the server's clock at first use. The access ends exactly 3600 s after it; nothing renews it. */
  readonly requested_at: string
  /** Strictly ascending. */
  readonly ports: ReadonlyArray<number>
}

/** What is known of the access that was revoked. */
export interface ServiceAccessRevoke {
  readonly generationId: ServiceAccessId
  /** Every connection is cut here in either case. confirmed: and the runtime has said so too. */
  readonly cleanup: "confirmed" | "unconfirmed"
}

/**
 * 503. The service cannot reach its database for now. Send the request again in a few seconds.
 *
 * Cause: The service cannot reach its database, or is stopping.
 *
 * Next step: Repeat the call after the seconds of `Retry-After`. With `details.outcome` `unknown` the change may have
 * been made: look first, or repeat it with the same Idempotency-Key.
 */
export interface ServiceUnavailableError {
  /** For programs; it never changes its meaning. */
  readonly code: "SERVICE_UNAVAILABLE"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** It may have been done: look before you repeat it. */
    readonly outcome: "unknown"
  } | null
}

/** The volume of a Sandbox as it was at one instant. It outlives the Sandbox. */
export interface Snapshot {
  readonly id: SnapshotId
  /** The Sandbox whose volume it has; null: it was imported. */
  readonly sandboxId: SandboxId | null
  /** Whether it came from a file (importSnapshot). */
  readonly imported: boolean
  readonly workspaceId: WorkspaceId
  /** The revision of the Sandbox's transition log at which it was asked for; 0: it was imported. */
  readonly sandboxRevision: number
  /** The Sandbox's generation then; 0: it was imported. */
  readonly generation: number
  /** As it was given; null: none was. */
  readonly name: string | null
  readonly status: SnapshotStatus
  /** Why it has that status; null where nothing is to be said. */
  readonly statusReason: Reason | null
  /**
   * Whether the Sandbox took it by itself (`checkpoints`). Such a one is deleted in favour of newer ones, and with its
   * Sandbox, unless a client has changed its name or expiry.
   */
  readonly checkpoint: boolean
  /** The Sandbox's runtime; Sandboxes that are made of it have the same. */
  readonly runtime: "vm" | "namespace"
  readonly profile: SandboxProfile
  /** Whether the Sandbox had a network. */
  readonly networkEnabled: boolean
  readonly metadata: Metadata
  /** The names of the variables that come along, sorted. Their values are never told. */
  readonly envNames: ReadonlyArray<string>
  /** Whether the memory and the running processes are in it. */
  readonly memory: boolean
  /** The Sandbox's image; Sandboxes that are made of the snapshot have it, too. null: the host's own root. */
  readonly imageId: ImageId | null
  /** The size of the volume, full or empty, and of the memory where it is in it. null until it is ready. */
  readonly sizeBytes: number | null
  /**
   * Bytes that the image occupies on the host, with its memory; they count toward the workspace's storage limit. null
   * until it is ready.
   */
  readonly storedBytes: number | null
  /**
   * How long writers of the Sandbox waited, or with memory the whole Sandbox, in ms; 0: its volume was not in use. null
   * until it is ready.
   */
  readonly pausedMs: number | null
  /** When it was accepted. */
  readonly createdAt: string
  /** When its image was whole; null: it never was. */
  readonly readyAt: string | null
  /** When it is deleted by itself; null: never. */
  readonly expiresAt: string | null
  /** When it was deleted; null: it is not. */
  readonly deletedAt: string | null
}

/**
 * 409. The Sandbox cannot get the volume of this snapshot; the message says why.
 *
 * Cause: A Sandbox keeps its workspace, runtime and the size of its volume in a rollback, and the snapshot's differs.
 * `details.differs` says which.
 *
 * Next step: Choose another snapshot, give the Sandbox a volume as large as the snapshot's, or create a new Sandbox
 * with `snapshotId`.
 */
export interface SnapshotDoesNotFitError {
  /** For programs; it never changes its meaning. */
  readonly code: "SNAPSHOT_DOES_NOT_FIT"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /**
     * Where the snapshot differs from the Sandbox; disk: the snapshot's is larger; host: only earlier versions of Atoll
     * answer that.
     */
    readonly differs: "workspace" | "runtime" | "disk" | "host"
  }
}

/** The id of a snapshot; ids sort by age. */
export type SnapshotId = string

/**
 * 429. The account has as many snapshots as it may have, failed ones included. Delete one first.
 *
 * Cause: The account has reached its number of snapshots, which is `details.limit`. Failed ones count.
 *
 * Next step: Delete a snapshot. With `expiresAt` a snapshot deletes itself.
 */
export interface SnapshotLimitReachedError {
  /** For programs; it never changes its meaning. */
  readonly code: "SNAPSHOT_LIMIT_REACHED"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** How many it may have. */
    readonly limit: number
  }
}

/** Newest first, deleted ones included. */
export interface SnapshotList {
  /** One page. */
  readonly snapshots: ReadonlyArray<Snapshot>
  /** Pass it as cursor to get the next page; null at the end. */
  readonly nextCursor: string | null
}

/**
 * 409. The snapshot is not ready; details.status says what it is.
 *
 * Cause: The snapshot is still being made, has failed, or is being deleted. `details.status` has its state.
 *
 * Next step: While it is `creating`, read it until it is `ready`. A `failed` one says why in `statusReason`: take
 * another one.
 */
export interface SnapshotNotReadyError {
  /** For programs; it never changes its meaning. */
  readonly code: "SNAPSHOT_NOT_READY"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** The snapshot's status. */
    readonly status: string
  }
}

/** One snapshot. */
export interface SnapshotResponse {
  readonly snapshot: Snapshot
}

/**
 * What it is now. Sandboxes can be made of it while it is ready. failed: there is no image, and statusReason says why.
 */
export type SnapshotStatus = "creating" | "ready" | "failed" | "deleting" | "deleted"

/** A command to start; it runs on its own. */
export interface StartOperationRequest {
  /** The program and its arguments; no shell is involved. Entries contain no NUL. */
  readonly argv: ReadonlyArray<string>
  /** Where it runs; a directory that exists. By default `"/workspace"`. */
  readonly cwd?: WorkspacePath | null | undefined
  /** Added to the Sandbox's own environment. By default `{}`. */
  readonly env?: { readonly [name: string]: string } | null | undefined
  /** All of its input, in `encoding`, after which the input ends. Absent or null: it is empty. */
  readonly stdin?: string | null | undefined
  /** Of stdin, and of stdout and stderr where they are answered. By default `"utf8"`. */
  readonly encoding?: Encoding | null | undefined
  /**
   * After so long it is killed and failed, counted from startedAt: waiting in the queue does not count. A fraction
   * counts, rounded up to a whole millisecond. Absent or null: never.
   */
  readonly timeoutSeconds?: number | null | undefined
}

/** No fields today. An absent body means {}. */
export type StartSandboxRequest = { readonly [name: string]: unknown }

/** The kind of call or connection whose command a process descends from. */
export type StartedBy = "operation" | "execute" | "terminal" | "ssh"

/**
 * 413. The Sandbox's volume is full. Remove files first.
 *
 * Cause: The volume of the Sandbox has no room.
 *
 * Next step: Remove files, then repeat the call.
 */
export interface StorageFullError {
  /** For programs; it never changes its meaning. */
  readonly code: "STORAGE_FULL"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/**
 * 429. The workspace's storage limit leaves no room for another volume. Delete a Sandbox first.
 *
 * Cause: The volumes of the workspace use its storage limit, and another volume does not fit.
 *
 * Next step: Delete a Sandbox of the workspace, or use another workspace.
 */
export interface StorageLimitReachedError {
  /** For programs; it never changes its meaning. */
  readonly code: "STORAGE_LIMIT_REACHED"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** The limit; null: it is not known any more. */
    readonly limitBytes: number | null
  }
}

/**
 * 409. oldText occurs more than once. Send a longer oldText, or replaceAll true.
 *
 * Cause: `oldText` occurs `details.occurrences` times.
 *
 * Next step: Send a longer `oldText` that occurs once, or `replaceAll` true.
 */
export interface TextAmbiguousError {
  /** For programs; it never changes its meaning. */
  readonly code: "TEXT_AMBIGUOUS"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** How often it occurs. */
    readonly occurrences: number
  }
}

/**
 * 409. oldText does not occur in the file. Read it again.
 *
 * Cause: `oldText` does not occur in the file.
 *
 * Next step: Read the file again. Spaces and line ends count.
 */
export interface TextNotFoundError {
  /** For programs; it never changes its meaning. */
  readonly code: "TEXT_NOT_FOUND"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/** One step of a state machine, as it was committed. */
export interface Transition {
  /** 1 for the first, without gaps. */
  readonly revision: number
  /** When it was taken. */
  readonly at: string
  readonly event: LoggedEvent
  /** The status before; null for the first. */
  readonly from: string | null
  /** The status after. */
  readonly to: string
  /** What the step asked the service to do. */
  readonly commands: ReadonlyArray<{
    /** The command's name in the machine. */
    readonly type: string
    /** Its parameters; null where it has none. */
    readonly params: unknown
  }>
  /**
   * What earlier steps asked for that was not done yet when this one was taken; its own commands are pending besides.
   * Null: not known, of a step that an older version of the service took.
   */
  readonly stillPending: ReadonlyArray<{
    /** The step that asked for it. */
    readonly revision: number
    /** Its place among that step's commands, from 0. */
    readonly index: number
  }> | null
  /** Who or what sent the event. */
  readonly cause: string
  /** Of the request that sent it; null where none did. */
  readonly requestId: string | null
}

/** Oldest first. */
export interface TransitionList {
  /** One page. */
  readonly transitions: ReadonlyArray<Transition>
  /** Pass it as cursor to get the next page; null at the end. */
  readonly nextCursor: string | null
  /** The events that the present state accepts. */
  readonly nextEvents: ReadonlyArray<string>
  /**
   * The present context of the machine. Folding the log up to this revision through the machine gives the same. Read
   * before the log, which may be ahead.
   */
  readonly stored: {
    /** How many transitions made it so. */
    readonly revision: number
    /** The machine's state. */
    readonly status: string
    /** What the machine remembers. */
    readonly context: { readonly [name: string]: unknown }
  }
}

/**
 * 401. Send a valid API key as Authorization: Bearer <API_KEY>.
 *
 * Cause: The request has no API key, or the key is misspelt, expired or revoked.
 *
 * Next step: Send `Authorization: Bearer` with a valid key. A lost key cannot be shown again: create another one in the
 * console, or ask the operator.
 */
export interface UnauthenticatedError {
  /** For programs; it never changes its meaning. */
  readonly code: "UNAUTHENTICATED"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/** What was unpacked. */
export interface UnpackedArchive {
  /** The directory. */
  readonly path: string
  /** How many files, directories and links are as in the archive now. */
  readonly entries: number
  /** Content of the files among them. */
  readonly bytes: number
}

/**
 * 501. TCP access to ports is off on this server. The operator turns it on with ATOLL_SERVICE_ACCESS=on.
 *
 * Cause: The operator turned the feature off, or the runtime of this Sandbox does not have it.
 *
 * Next step: The message names the feature. Ask the operator to turn it on, or use a Sandbox of another runtime.
 */
export interface UnsupportedByRuntimeError {
  /** For programs; it never changes its meaning. */
  readonly code: "UNSUPPORTED_BY_RUNTIME"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** Nothing. */
  readonly details: null
}

/**
 * 415. Send the body as the Content-Type in details.expected.
 *
 * Cause: The Content-Type of the body is not the one that the call reads.
 *
 * Next step: Send the Content-Type in `details.expected`.
 */
export interface UnsupportedMediaTypeError {
  /** For programs; it never changes its meaning. */
  readonly code: "UNSUPPORTED_MEDIA_TYPE"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** The media type that is read here. */
    readonly expected: string
  }
}

/** A JSON Merge Patch (RFC 7396): what is absent stays as it is, null removes. */
export interface UpdateSandboxRequest {
  /** null: none. */
  readonly name?: string | null | undefined
  /** By key: a key that is not named stays, one with null is removed. null: all are. At most 32 pairs in the end. */
  readonly metadata?: { readonly [name: string]: string | null } | null | undefined
  /**
   * Variables of every command, terminal and SSH session of it; what a command itself brings wins by name. They are
   * secrets: stored sealed, and answered by name only. At most 65536 bytes of UTF-8 together; values contain no NUL. By
   * name: one that is not named stays, one with null is removed. null: all are. Commands that begin afterwards get the
   * new ones. At most 128 in the end.
   */
  readonly env?: { readonly [name: string]: string | null } | null | undefined
  /**
   * Its sizes, by part: one that is absent or null stays. Each is within the bounds in `GET /me`, and diskBytes never
   * shrinks, else 400. A namespace Sandbox that runs gets them immediately; a virtual machine that runs gets the larger
   * volume immediately, and the rest at its next start. It costs what they say from this change on. Less memory than a
   * running namespace Sandbox has in use: 409 MEMORY_IN_USE. A volume that cannot grow while it is in use grows at the
   * next start.
   */
  readonly profile?: {
    /** Virtual CPUs, in steps of 0.1. */
    readonly vcpus?: number | null | undefined
    /** Memory, in whole MiB. */
    readonly memoryBytes?: number | null | undefined
    /** The size of its volume, in whole MiB. */
    readonly diskBytes?: number | null | undefined
  } | null | undefined
  /**
   * By part: one that is absent stays, one with null is removed. null: all are. Time counts from the boot
   * (stopAfterSeconds) and from the stop (deleteAfterStoppedSeconds), not from this change: an instant that has passed
   * already takes effect immediately. An idle time counts from this change at the earliest.
   */
  readonly lifetime?: {
    /**
     * It is stopped when it has run for so many seconds, counted from its boot; time that it slept counts, and a later
     * boot starts the count again.
     */
    readonly stopAfterSeconds?: number | null | undefined
    /**
     * It is stopped when it has not been used for so many seconds. A use is a command, a file call, a terminal, and a
     * connection of a preview, a tunnel or SSH, for as long as it lasts. A boot and a waking count as one. So does a
     * restart of the service, which may forget uses before it: it is never stopped sooner, only later; so it is, by up
     * to 15 s, where the service is several processes.
     */
    readonly stopAfterIdleSeconds?: number | null | undefined
    /**
     * It is deleted with its volume when it has been stopped for so many seconds (by its lifetime, by a client, or at
     * the end of the account's credit), or failed for so long. 0: immediately.
     */
    readonly deleteAfterStoppedSeconds?: number | null | undefined
  } | null | undefined
  /**
   * By part: one that is absent stays, one with null is as it would be by default. null, or neither everySeconds nor
   * onStop in the end: none are taken; those that there are stay until the Sandbox is deleted. everySeconds counts from
   * this change.
   */
  readonly checkpoints?: {
    /**
     * A snapshot is taken whenever it has run for so many seconds since the last such one. The deadline is durable: one
     * that was missed while the service was away is taken once. A Sandbox that sleeps or is stopped takes one at that
     * time if it has run since the last checkpoint, and then none until it runs again.
     */
    readonly everySeconds?: number | null | undefined
    /**
     * Whether a snapshot is taken when it has stopped, if it has run since the last checkpoint. A start that comes
     * meanwhile waits for it. A Sandbox that was started again before it had stopped takes none. By default `false`.
     */
    readonly onStop?: boolean | null | undefined
    /**
     * How many checkpoints that are ready stay: when a newer one is ready, the oldest beyond this number is deleted.
     * Those that a client has changed (name or expiry) neither count nor go. By default `5`.
     */
    readonly keep?: number | null | undefined
  } | null | undefined
}

/** A JSON Merge Patch (RFC 7396): what is absent stays as it is, null removes. */
export interface UpdateSnapshotRequest {
  /** null: none. */
  readonly name?: string | null | undefined
  /** When it is deleted by itself: an instant in the future. null: never. */
  readonly expiresAt?: string | null | undefined
}

/** What was used within a window. */
export interface Usage {
  /** The begin of the window. */
  readonly from: string
  /** The end of the window, exclusive. */
  readonly to: string
  /** What happened up to here is in it: the end of the window, or now if that is earlier. */
  readonly asOf: string
  /** Time in status running, of all Sandboxes together. */
  readonly sandboxSeconds: number
  /** That time, times the vCPUs of each. */
  readonly vcpuSeconds: number
  /** That time, times the MiB of memory of each. */
  readonly memoryMibSeconds: number
  /** From a Sandbox's first boot to its deletion, times the MiB of its volume. */
  readonly volumeMibSeconds: number
  /** Of each snapshot and image from when it was ready to its deletion, times the MiB that it stores (storedBytes). */
  readonly snapshotMibSeconds: number
  /** CPU time that was really used, as measured. Null: not measured. */
  readonly cpuSeconds: number | null
  /** Operations that were started, with every outcome. */
  readonly operations: number
  /** Synchronous commands that were started and have ended. */
  readonly executes: number
}

/** What the account used in a window of time. */
export interface UsageResponse {
  readonly usage: Usage
}

/** The id of a volume. */
export type VolumeId = string

/** An absent body means {}. Given an offset, output beyond it also ends the wait. */
export interface WaitOperationRequest {
  /** How long to wait at most; a fraction counts, rounded up to a whole millisecond. By default `30`. */
  readonly timeoutSeconds?: number | null | undefined
  /** Absolute byte offset: more output than this ends the wait. Absent or null: none does. */
  readonly stdoutOffset?: number | null | undefined
  /** Absolute byte offset: more error output than this ends the wait. Absent or null: none does. */
  readonly stderrOffset?: number | null | undefined
}

/** One entry of the ledger: credit that came, or money that was used. */
export interface WalletTransaction {
  /** The id of a transaction. */
  readonly id: string
  /** When what it is about happened; of usage, the end of its period. */
  readonly at: string
  /** When it was entered. */
  readonly postedAt: string
  /**
   * adjustment: a grant of that kind. expiry: what was left of a grant that expired. reversal: gives back usage that
   * was posted although its Sandbox had ended before.
   */
  readonly kind: "grant" | "usage" | "expiry" | "adjustment" | "reversal"
  /** What it adds to the balance; usage and expiry are negative. */
  readonly microUsd: number
  /** The balance after it. */
  readonly balanceMicroUsd: number
  /** Of usage and its reversal: whose. Of a snapshot's: the Sandbox that it was taken of; null: it was imported. */
  readonly sandboxId: SandboxId | null
  /** Of usage of a snapshot and its reversal: whose. */
  readonly snapshotId: SnapshotId | null
  /** Of usage of an image and its reversal: whose. */
  readonly imageId: ImageId | null
  /** Of usage and its reversal: when it was; within one UTC day. */
  readonly period: {
    /** Inclusive. */
    readonly from: string
    /** Exclusive. */
    readonly to: string
  } | null
  /** For people: whose usage, which grant. */
  readonly description: string
  /** How it changed grants. What microUsd has beyond them was owed, or paid what had been owed. */
  readonly grants: ReadonlyArray<{
    /** The id of a grant. */
    readonly grantId: string
    /** What it adds to what is left of the grant; negative: takes. */
    readonly microUsd: number
  }>
  /** Of a reversal: the transaction of which it gives back. */
  readonly reversesId: string | null
}

/** Newest first. */
export interface WalletTransactionList {
  /** One page. */
  readonly transactions: ReadonlyArray<WalletTransaction>
  /** Pass it as cursor to get the next page; null at the end. */
  readonly nextCursor: string | null
}

/** A persistent container of Sandboxes. */
export interface Workspace {
  readonly id: WorkspaceId
  /** For people; names need not be unique. */
  readonly name: string
  /** When it was made. */
  readonly createdAt: string
  /** Sandboxes that count toward the limits: all but deleted and expired ones. */
  readonly sandboxCount: number
  /** The sizes of their volumes, and what the images of its snapshots occupy, together. */
  readonly storageBytes: number
  /** What they may be together; beyond it a create is 429. */
  readonly storageLimitBytes: number
}

/** The id of a workspace. */
export type WorkspaceId = string

/** Newest first. */
export interface WorkspaceList {
  /** All of the account. */
  readonly workspaces: ReadonlyArray<Workspace>
}

/**
 * 409. The workspace has Sandboxes. Delete them first; details.sandboxCount says how many there are.
 *
 * Cause: The workspace still has Sandboxes: `details.sandboxCount` of them.
 *
 * Next step: Delete these Sandboxes, then the workspace. A deletion takes a moment: repeat the call until it succeeds.
 */
export interface WorkspaceNotEmptyError {
  /** For programs; it never changes its meaning. */
  readonly code: "WORKSPACE_NOT_EMPTY"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** How many it has. */
    readonly sandboxCount: number
  }
}

/** /workspace, or a path below it without empty, . or .. segments. */
export type WorkspacePath = string

/**
 * 409. The account has as many workspaces as it may have.
 *
 * Cause: The account has reached its number of workspaces, which is `details.limit`.
 *
 * Next step: Delete an empty workspace, or ask the operator for a higher limit.
 */
export interface WorkspaceQuotaExceededError {
  /** For programs; it never changes its meaning. */
  readonly code: "WORKSPACE_QUOTA_EXCEEDED"
  /** For people: one sentence that says what to do. It may change. */
  readonly message: string
  /** As in X-Request-Id: name it when you report something. */
  readonly requestId: string
  /** What a program needs beside the code. */
  readonly details: {
    /** How many it may have. */
    readonly limit: number
  }
}

/** One workspace. */
export interface WorkspaceResponse {
  readonly workspace: Workspace
}

/** The shape of each error by its code. */
export interface ErrorByCode {
  readonly INVALID_REQUEST: InvalidRequestError
  readonly INVALID_PATH: InvalidPathError
  readonly NETWORK_DISABLED: NetworkDisabledError
  readonly UNAUTHENTICATED: UnauthenticatedError
  readonly CREDIT_EXHAUSTED: CreditExhaustedError
  readonly SCOPE_REQUIRED: ScopeRequiredError
  readonly ACCOUNT_SUSPENDED: AccountSuspendedError
  readonly CROSS_SITE_REQUEST: CrossSiteRequestError
  readonly NOT_FOUND: NotFoundError
  readonly METHOD_NOT_ALLOWED: MethodNotAllowedError
  readonly EXECUTION_TIMEOUT: ExecutionTimeoutError
  readonly IDEMPOTENCY_CONFLICT: IdempotencyConflictError
  readonly IMAGE_NOT_READY: ImageNotReadyError
  readonly IMAGE_IN_USE: ImageInUseError
  readonly IMAGE_UPLOADS_REACHED: ImageUploadsReachedError
  readonly IMAGE_LIMIT_REACHED: ImageLimitReachedError
  readonly IMAGE_OF_OPERATOR: ImageOfOperatorError
  readonly SNAPSHOT_NOT_READY: SnapshotNotReadyError
  readonly SANDBOX_NOT_CAPTURABLE: SandboxNotCapturableError
  readonly SANDBOX_CANNOT_ROLL_BACK: SandboxCannotRollBackError
  readonly SNAPSHOT_DOES_NOT_FIT: SnapshotDoesNotFitError
  readonly NO_SNAPSHOT_AT_REVISION: NoSnapshotAtRevisionError
  readonly MEMORY_NOT_SUPPORTED: MemoryNotSupportedError
  readonly SNAPSHOT_LIMIT_REACHED: SnapshotLimitReachedError
  readonly WORKSPACE_QUOTA_EXCEEDED: WorkspaceQuotaExceededError
  readonly WORKSPACE_NOT_EMPTY: WorkspaceNotEmptyError
  readonly MEMORY_IN_USE: MemoryInUseError
  readonly PREVIEW_EXISTS: PreviewExistsError
  readonly CURSOR_STALE: CursorStaleError
  readonly TEXT_NOT_FOUND: TextNotFoundError
  readonly TEXT_AMBIGUOUS: TextAmbiguousError
  readonly DESTINATION_EXISTS: DestinationExistsError
  readonly DIRECTORY_NOT_EMPTY: DirectoryNotEmptyError
  readonly NOT_A_DIRECTORY: NotADirectoryError
  readonly IS_A_DIRECTORY: IsADirectoryError
  readonly ALREADY_EXISTS: AlreadyExistsError
  readonly ARCHIVE_INCOMPLETE: ArchiveIncompleteError
  readonly PRECONDITION_FAILED: PreconditionFailedError
  readonly PAYLOAD_TOO_LARGE: PayloadTooLargeError
  readonly STORAGE_FULL: StorageFullError
  readonly UNSUPPORTED_MEDIA_TYPE: UnsupportedMediaTypeError
  readonly SANDBOX_LIMIT_REACHED: SandboxLimitReachedError
  readonly STORAGE_LIMIT_REACHED: StorageLimitReachedError
  readonly RATE_LIMITED: RateLimitedError
  readonly INTERNAL: InternalError
  readonly UNSUPPORTED_BY_RUNTIME: UnsupportedByRuntimeError
  readonly SANDBOX_UNAVAILABLE: SandboxUnavailableError
  readonly SERVICE_UNAVAILABLE: ServiceUnavailableError
  readonly RUNTIME_UNAVAILABLE: RuntimeUnavailableError
  readonly PREVIEW_TRANSPORT_UNAVAILABLE: PreviewTransportUnavailableError
  readonly CLEANUP_PENDING: CleanupPendingError
}
