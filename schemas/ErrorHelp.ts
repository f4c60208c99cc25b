/**
 * The cause of each error and the next step, for the reference (`/docs#CODE`) and the OpenAPI description. `message` in Errors.ts is the one
 * sentence of the answer; an answer may have a more exact one.
 */
import type { ErrorCode } from "./Errors.ts"

interface ErrorHelp {
  readonly cause: string
  readonly next: string
}

export const errorHelp: Readonly<Record<ErrorCode, ErrorHelp>> = {
  INVALID_REQUEST: {
    cause: "A field, parameter or header is missing, unknown or out of range, or the body is not JSON.",
    next: "Correct what `details.issues` lists: each issue has the path of the field and what is wrong. Nothing was changed."
  },
  INVALID_PATH: {
    cause: "The path leads out of /workspace, is not absolute, or contains NUL.",
    next: "Send an absolute path below /workspace. The libraries also take relative paths and begin them there."
  },
  NETWORK_DISABLED: {
    cause: "The Sandbox was created with `networkEnabled` false. That never changes.",
    next: "Create another Sandbox without that field."
  },
  UNAUTHENTICATED: {
    cause: "The request has no API key, or the key is misspelt, expired or revoked.",
    next: "Send `Authorization: Bearer` with a valid key. A lost key cannot be shown again: create another one in the console, or ask the operator."
  },
  CREDIT_EXHAUSTED: {
    cause:
      "The account's balance is used up, so nothing may be created, started, run or written. Reading, stopping and deleting still work.",
    next: "`GET /api/v2/usage/balance` shows the balance. Ask the operator for credit."
  },
  SCOPE_REQUIRED: {
    cause: "The API key is valid, but does not have the scope that the call needs.",
    next: "Use a key with the scope in `details.scope`. The scopes of a key never change, so create another key."
  },
  ACCOUNT_SUSPENDED: {
    cause: "The operator suspended the account. All of its data is kept.",
    next: "Ask the operator to resume the account."
  },
  CROSS_SITE_REQUEST: {
    cause:
      "The request has the cookie of a console session, but not the token of the console's page: another site may have sent it.",
    next: "Programs use an API key instead of the cookie. In the console, reload the page."
  },
  NOT_FOUND: {
    cause: "The path does not exist, or the id names nothing in this account. Things of other accounts look the same.",
    next: "Compare the id with the list of its kind. For a file, list its directory."
  },
  METHOD_NOT_ALLOWED: {
    cause: "The path exists, but does not take this method.",
    next: "Use a method of the header `Allow`, which `details.allow` repeats."
  },
  EXECUTION_TIMEOUT: {
    cause:
      "The command of an execute ran longer than `timeoutSeconds`, and was killed. `details` holds its output so far.",
    next: "Raise `timeoutSeconds`, or start an operation, which runs independently of the request."
  },
  IDEMPOTENCY_CONFLICT: {
    cause: "The Idempotency-Key already belongs to a request with another body or path.",
    next: "Use a new key for a new request. Send the same key only to repeat the same request."
  },
  IMAGE_NOT_READY: {
    cause: "The image is still being pulled, has failed, or is being deleted. `details.status` has its state.",
    next: "While it is `pulling`, read it until it is `ready`. A `failed` one says why in `statusReason`: mend that, and pull another one."
  },
  IMAGE_IN_USE: {
    cause: "Sandboxes or snapshots that are not deleted have this image. `details` says how many of each.",
    next: "Delete these Sandboxes and snapshots, and then the image."
  },
  IMAGE_OF_OPERATOR: {
    cause: "The image is one of those that the operator gives to all accounts. Its `operator` is true.",
    next: "Leave it: it costs the account nothing. To pull the same reference for the account alone, call POST /images."
  },
  SNAPSHOT_NOT_READY: {
    cause: "The snapshot is still being made, has failed, or is being deleted. `details.status` has its state.",
    next: "While it is `creating`, read it until it is `ready`. A `failed` one says why in `statusReason`: take another one."
  },
  SANDBOX_NOT_CAPTURABLE: {
    cause: "The Sandbox boots, is being stopped or deleted, or never had a volume. `details.status` has its state.",
    next: "Repeat the call once the Sandbox runs, sleeps or is stopped."
  },
  SANDBOX_CANNOT_ROLL_BACK: {
    cause:
      "The Sandbox boots, is being stopped, rolled back or deleted, or its first boot failed. `details.status` has its state.",
    next: "Repeat the call once the Sandbox runs, sleeps or is stopped."
  },
  SNAPSHOT_DOES_NOT_FIT: {
    cause:
      "A Sandbox keeps its workspace, runtime and the size of its volume in a rollback, and the snapshot's differs. `details.differs` says which.",
    next: "Choose another snapshot, give the Sandbox a volume as large as the snapshot's, or create a new Sandbox with `snapshotId`."
  },
  NO_SNAPSHOT_AT_REVISION: {
    cause: "The Sandbox has no ready snapshot that was taken at `atRevision` or before it.",
    next: "Send an `atRevision` of at least `details.oldestRevision`, or leave it out: the fork begins from a new snapshot. `checkpoints` of a Sandbox take snapshots by themselves."
  },
  MEMORY_NOT_SUPPORTED: {
    cause:
      "The request asks for a snapshot with memory and processes, which the runtime of the Sandbox cannot take: only virtual machines can, on QEMU 8.2 or newer.",
    next: "Send `memory` false, or leave it out: the snapshot has the volume."
  },
  WORKSPACE_QUOTA_EXCEEDED: {
    cause: "The account has reached its number of workspaces, which is `details.limit`.",
    next: "Delete an empty workspace, or ask the operator for a higher limit."
  },
  MEMORY_IN_USE: {
    cause: "PATCH asks for less memory than the running Sandbox has in use; details.usedBytes says how much that is.",
    next: "End processes in it, or stop it first: at its next start it has the memory that you asked for."
  },
  WORKSPACE_NOT_EMPTY: {
    cause: "The workspace still has Sandboxes: `details.sandboxCount` of them.",
    next: "Delete these Sandboxes, then the workspace. A deletion takes a moment: repeat the call until it succeeds."
  },
  PREVIEW_EXISTS: {
    cause: "The Sandbox has an open preview, and the request does not ask for another port beside it.",
    next: "Send `alongside: true` for another port, read the address of the open one with `POST …/previews/lookup`, or close it: `DELETE …/previews` needs no id."
  },
  CURSOR_STALE: {
    cause: "The file or directory changed after its first page was read, so the next page would not fit.",
    next: "Read again from the start, without a cursor. The libraries do that for whole files."
  },
  TEXT_NOT_FOUND: {
    cause: "`oldText` does not occur in the file.",
    next: "Read the file again. Spaces and line ends count."
  },
  TEXT_AMBIGUOUS: {
    cause: "`oldText` occurs `details.occurrences` times.",
    next: "Send a longer `oldText` that occurs once, or `replaceAll` true."
  },
  DESTINATION_EXISTS: {
    cause: "The destination of the rename exists.",
    next: "Choose another name, or send `overwrite` true."
  },
  DIRECTORY_NOT_EMPTY: {
    cause: "The directory has entries.",
    next: "Send `recursive=true` to remove it with its content."
  },
  NOT_A_DIRECTORY: {
    cause: "The call needs a directory, and the path, or a part of it, is a file.",
    next: "Look at the path with `GET …/files/stat`."
  },
  IS_A_DIRECTORY: {
    cause: "The call needs a file, and the path is a directory.",
    next: "List the directory, or download it as an archive."
  },
  ALREADY_EXISTS: {
    cause: "Something exists at the path.",
    next: "Choose another path, or send `recursive` true: then a directory that exists is no error."
  },
  ARCHIVE_INCOMPLETE: {
    cause:
      "The service could not unpack the whole archive. `details.reason` says why, and `details.lastPath` names the last entry that was unpacked.",
    next: "Correct what `details.reason` names, then send the archive again: entries that are there already are replaced whole."
  },
  PRECONDITION_FAILED: {
    cause: "The file is not the one that `expectedSha256` describes: somebody changed it.",
    next: "Read the file again, make the edit for its present content, and send its present SHA-256."
  },
  PAYLOAD_TOO_LARGE: {
    cause: "The body, or the answer, is larger than `details.limitBytes`.",
    next: "Send larger files as an archive, and read them in pieces: `maxBytes` and the cursor. The libraries do both."
  },
  STORAGE_FULL: {
    cause: "The volume of the Sandbox has no room.",
    next: "Remove files, then repeat the call."
  },
  UNSUPPORTED_MEDIA_TYPE: {
    cause: "The Content-Type of the body is not the one that the call reads.",
    next: "Send the Content-Type in `details.expected`."
  },
  SANDBOX_LIMIT_REACHED: {
    cause: "The account has reached its number of Sandboxes. Stopped Sandboxes count.",
    next: "Delete a Sandbox, or ask the operator for a higher limit. A `lifetime` deletes Sandboxes that are no longer used."
  },
  STORAGE_LIMIT_REACHED: {
    cause: "The volumes of the workspace use its storage limit, and another volume does not fit.",
    next: "Delete a Sandbox of the workspace, or use another workspace."
  },
  IMAGE_UPLOADS_REACHED: {
    cause: "The account already uploads as many images as it may at a time.",
    next: "Wait until one of the uploads has been answered, then send the archive again."
  },
  IMAGE_LIMIT_REACHED: {
    cause: "The account has reached its number of images, which is `details.limit`. Failed ones count.",
    next: "Delete an image that no Sandbox needs."
  },
  SNAPSHOT_LIMIT_REACHED: {
    cause: "The account has reached its number of snapshots, which is `details.limit`. Failed ones count.",
    next: "Delete a snapshot. With `expiresAt` a snapshot deletes itself."
  },
  RATE_LIMITED: {
    cause: "The account, or the address, sent too many requests of this kind.",
    next: "Wait for the seconds of the header `Retry-After`, then repeat the call. The libraries do that."
  },
  INTERNAL: {
    cause: "The service has a fault. Its log has the cause under the `requestId`.",
    next: "Repeat the call; with `details.outcome` `unknown`, look first whether the change was made. Give the operator the `requestId`."
  },
  UNSUPPORTED_BY_RUNTIME: {
    cause: "The operator turned the feature off, or the runtime of this Sandbox does not have it.",
    next: "The message names the feature. Ask the operator to turn it on, or use a Sandbox of another runtime."
  },
  SANDBOX_UNAVAILABLE: {
    cause: "The Sandbox does not run, or its host does not answer. `details.status` has its state.",
    next: "Start it with `POST …/start?wait=running`, or create with `?wait=running`. With `details.outcome` `unknown` the command may have run: look before you repeat it."
  },
  SERVICE_UNAVAILABLE: {
    cause: "The service cannot reach its database, or is stopping.",
    next: "Repeat the call after the seconds of `Retry-After`. With `details.outcome` `unknown` the change may have been made: look first, or repeat it with the same Idempotency-Key."
  },
  RUNTIME_UNAVAILABLE: {
    cause: "The Sandbox does not run, so its files cannot be reached.",
    next: "Start the Sandbox, then repeat the call."
  },
  PREVIEW_TRANSPORT_UNAVAILABLE: {
    cause: "The service cannot connect to the Sandbox of the preview.",
    next: "Start the Sandbox, then repeat the call."
  },
  CLEANUP_PENDING: {
    cause: "The URL of the preview no longer works, but the service has not yet removed everything behind it.",
    next: "Repeat the call until it succeeds."
  }
}
