/** The failures of the OpenAPI description: what each status says, and what every operation may answer before it is asked. */
import { bodyName, type ErrorCode } from "./Errors.ts"

type Json = Record<string, unknown>

/** Headers of every answer. */
export const requestId = { "X-Request-Id": { $ref: "#/components/headers/RequestId" } }

const outcomeUnknown =
  "With `details.outcome` `unknown` it may have been done: the database, the service or the Sandbox went away before its end was seen. Look before you repeat it; with the same Idempotency-Key, where there is one, it is not done twice. Retry-After, where there is one, says when the service can be asked again, not that the change may be repeated. Without `details.outcome` nothing was changed."

/** Codes of a change that was begun and whose result is unknown. */
const tellsOutcome: ReadonlySet<ErrorCode> = new Set(["INTERNAL", "SANDBOX_UNAVAILABLE", "SERVICE_UNAVAILABLE"])

/** The answers of one status, by their codes. */
export const errorResponse = (status: number, codes: ReadonlyArray<ErrorCode>, mayChange: boolean): Json => ({
  description: [
    codes.map((code) => `\`${code}\``).join(", "),
    ...(mayChange && codes.some((code) => tellsOutcome.has(code)) ? [outcomeUnknown] : [])
  ].join("\n\n"),
  headers: {
    ...requestId,
    ...(status === 401 ? { "WWW-Authenticate": { $ref: "#/components/headers/WwwAuthenticate" } } : {}),
    ...(codes.includes("RATE_LIMITED") || codes.includes("SERVICE_UNAVAILABLE")
      ? { "Retry-After": { $ref: "#/components/headers/RetryAfter" } }
      : {})
  },
  content: {
    "application/json": {
      schema: { $ref: "#/components/schemas/Error" },
      examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${bodyName(code)}` }]))
    }
  }
})

/** The parser answers it before any endpoint is known, so every operation may. */
export const headTooLarge = {
  ...errorResponse(431, ["INVALID_REQUEST"], false),
  description: "`INVALID_REQUEST`\n\nThe URL and the headers have more than 64 KiB."
}

const notAllowed = errorResponse(0, ["METHOD_NOT_ALLOWED"], false)

/** What comes before the endpoint is asked: of every path. */
export const otherResponse = {
  ...notAllowed,
  description:
    "Any other failure: a method that the path does not have (405, with Allow), and what is no well-formed HTTP (400, 408). The body is an Error too.",
  headers: { ...(notAllowed["headers"] as Json), Allow: { $ref: "#/components/headers/Allow" } }
}
