/** One example of each error in the OpenAPI description. */
import { bodyName, type ErrorCode, errors } from "./Errors.ts"
import { gibibyte, sha256, written } from "./OpenApiExamples.ts"
import { requestId } from "./samples/ids.ts"

type Json = Record<string, unknown>

/** Of the codes that carry something. */
const details: Partial<Record<ErrorCode, unknown>> = {
  INVALID_REQUEST: {
    issues: [{ path: ["netwrokEnabled"], message: "Not known. The nearest name is networkEnabled." }]
  },
  SCOPE_REQUIRED: { scope: "sandbox:create" },
  METHOD_NOT_ALLOWED: { allow: ["GET", "HEAD", "OPTIONS"] },
  EXECUTION_TIMEOUT: { ...(written["ExecutionResult"] as Json), exitCode: null, signal: "SIGKILL", stdout: "" },
  WORKSPACE_QUOTA_EXCEEDED: { limit: 10 },
  WORKSPACE_NOT_EMPTY: { sandboxCount: 2 },
  IMAGE_NOT_READY: { status: "pulling" },
  IMAGE_IN_USE: { sandboxes: 2, snapshots: 1 },
  SNAPSHOT_NOT_READY: { status: "creating" },
  SANDBOX_NOT_CAPTURABLE: { status: "pending" },
  SANDBOX_CANNOT_ROLL_BACK: { status: "stopping" },
  SNAPSHOT_DOES_NOT_FIT: { differs: "disk" },
  NO_SNAPSHOT_AT_REVISION: { oldestRevision: 14 },
  MEMORY_IN_USE: { usedBytes: 419_430_400 },
  TEXT_AMBIGUOUS: { occurrences: 3 },
  PRECONDITION_FAILED: { actualSha256: sha256 },
  PAYLOAD_TOO_LARGE: { limitBytes: 131_072 },
  ARCHIVE_INCOMPLETE: { reason: "storage_full", entries: 211, bytes: 1_073_741_824, lastPath: "data/part-0211.bin" },
  UNSUPPORTED_MEDIA_TYPE: { expected: "application/json" },
  SANDBOX_LIMIT_REACHED: { limit: 20 },
  STORAGE_LIMIT_REACHED: { limitBytes: 50 * gibibyte },
  IMAGE_UPLOADS_REACHED: { limit: 4 },
  IMAGE_LIMIT_REACHED: { limit: 20 },
  SNAPSHOT_LIMIT_REACHED: { limit: 100 },
  RATE_LIMITED: { retryAfterSeconds: 3 },
  SANDBOX_UNAVAILABLE: { status: "stopped" },
  SERVICE_UNAVAILABLE: { outcome: "unknown" }
}

/** Of the codes whose message always says more. */
const messages: Partial<Record<ErrorCode, string>> = {
  UNSUPPORTED_BY_RUNTIME:
    "TCP access to ports is off on this server. The operator turns it on with ATOLL_SERVICE_ACCESS=on."
}

const errorExample = (code: ErrorCode): Json => {
  const message = messages[code]
  const made = new (errors[code] as new (given: object) => Error)({
    details: details[code] ?? null,
    ...(message === undefined ? {} : { message })
  })
  return { code, message: made.message, requestId, details: details[code] ?? null }
}

/** `components.examples`: one of each code, by the name of its schema. */
export const errorExamples: Readonly<Record<string, { readonly value: Json }>> = Object.fromEntries(
  (Object.keys(errors) as Array<ErrorCode>).map((code) => [bodyName(code), { value: errorExample(code) }])
)
