/** All errors, typed by the service's codes. */
import type { ErrorByCode } from "./generated/schemas.ts"

export type ErrorCode = keyof ErrorByCode

/** `notApplied`: nothing was changed. `unknown`: it may have been applied; look before you repeat it. */
export type Outcome = "notApplied" | "unknown"

/**
 * The service refused the request, or could not apply it. `code` is for programs:
 * if (error instanceof AtollError && error.is("WORKSPACE_NOT_EMPTY")) error.details.sandboxCount
 */
export class AtollError<Code extends ErrorCode = ErrorCode> extends Error {
  override readonly name = "AtollError"
  /** Later versions of the service may have further codes: treat an unknown one by its status. */
  readonly code: Code
  /** Of HTTP. */
  readonly status: number
  /** The request's id in the service's log. */
  readonly requestId: string
  readonly details: ErrorByCode[Code]["details"]
  readonly outcome: Outcome
  /** When the request can be repeated, if the service said so. Seconds. */
  readonly retryAfterSeconds: number | null
  /** The place in the service's reference that has the cause of this code and the next step. Null: the service named none. */
  readonly documentation: string | null

  constructor(
    body: ErrorByCode[Code],
    status: number,
    retryAfterSeconds: number | null,
    documentation: string | null = null
  ) {
    super(body.message + issuesOf(body.details))
    this.code = body.code as Code
    this.status = status
    this.requestId = body.requestId
    this.details = body.details
    this.retryAfterSeconds = retryAfterSeconds
    this.documentation = documentation
    const { details } = body as { readonly details: unknown }
    const saysUnknown = status >= 500 && isRecord(details) && details["outcome"] === "unknown"
    this.outcome = status === 408 || saysUnknown ? "unknown" : "notApplied"
  }

  is<Wanted extends ErrorCode>(code: Wanted): this is AtollError<Wanted> {
    return (this.code as ErrorCode) === code
  }
}

/** No whole answer came: the service was not reached, or the connection ended before it. */
export class ConnectionError extends Error {
  override readonly name: string = "ConnectionError"
  readonly outcome: Outcome

  constructor(message: string, outcome: Outcome, cause: unknown) {
    super(message, { cause })
    this.outcome = outcome
  }
}

/**
 * The connection of a terminal or a tunnel broke, and ended it: open another one. The bytes that it had sent may have
 * arrived.
 */
export class ConnectionLost extends ConnectionError {
  override readonly name = "ConnectionLost"
  /** Of the WebSocket (RFC 6455 section 7.4), if the service closed it: 1001 when it stops, 1011 when the Sandbox does. */
  readonly closeCode: number | null

  constructor(what: string, { code, reason }: { readonly code: number | null; readonly reason: string }) {
    super(`${what}${reason === "" ? "." : `: ${reason}`}`, "unknown", null)
    this.closeCode = code
  }
}

/** The answer is not as the description says: another service, or a version that this library does not know. */
export class UnreadableAnswer extends Error {
  override readonly name = "UnreadableAnswer"
}

/** The wait ended first; it ended nothing in the Sandbox. */
export class WaitTimeout extends Error {
  override readonly name = "WaitTimeout"
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A fault of a request, and its place. */
const issuesOf = (details: unknown): string => {
  if (!isRecord(details) || !Array.isArray(details["issues"])) return ""
  const issues: ReadonlyArray<unknown> = details["issues"]
  return issues
    .filter(isRecord)
    .map(({ path, message }) => `\n  ${Array.isArray(path) ? path.join(".") : ""}: ${String(message)}`)
    .join("")
}

/** For an answer that is no error of the service's shape: a proxy's, for example. */
const foreign = (status: number, text: string): ErrorByCode["INTERNAL"] | ErrorByCode["SERVICE_UNAVAILABLE"] => ({
  code: status === 503 || status === 502 || status === 504 ? "SERVICE_UNAVAILABLE" : "INTERNAL",
  message: `The answer ${status} did not come from Atoll: ${text.slice(0, 200)}`,
  requestId: "",
  // The sender of the answer does not know the outcome.
  details: status >= 500 ? { outcome: "unknown" } : null
})

/** The header Link with the relation `help` (RFC 8288), which is relative to what was asked. */
const helpOf = ({ headers }: Response, asked: string): string | null => {
  const [, target] = /<([^>]*)>;\s*rel="?help"?/.exec(headers.get("link") ?? "") ?? []
  return target !== undefined && URL.canParse(target, asked) ? new URL(target, asked).href : null
}

/**
 * The error that an answer says. Fails where the connection is lost before all of it has come.
 *
 * @param asked The URL of the request.
 */
export const errorOf = async (answer: Response, asked = answer.url): Promise<AtollError> => {
  const text = await answer.text()
  const after = Number(answer.headers.get("retry-after") ?? Number.NaN)
  const retryAfterSeconds = Number.isFinite(after) && after >= 0 ? after : null
  let body: unknown = null
  try {
    body = JSON.parse(text)
  } catch {
    // Not the service's.
  }
  const isOurs = isRecord(body) && typeof body["code"] === "string" && typeof body["message"] === "string"
  return new AtollError(
    (isOurs ? body : foreign(answer.status, text)) as ErrorByCode[ErrorCode],
    answer.status,
    retryAfterSeconds,
    isOurs ? helpOf(answer, asked) : null
  )
}
