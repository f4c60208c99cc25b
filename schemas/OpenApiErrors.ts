/** What the OpenAPI description says of errors: the answer of each status, and the one body Error, a union by code. */
import { type Schema, SchemaAST } from "effect"
import { errorHelp } from "./ErrorHelp.ts"
import { bodyName, type ErrorCode, errorStatus, errors } from "./Errors.ts"
import { errorExamples } from "./OpenApiErrorExamples.ts"

type Json = Record<string, unknown>

export const isErrorCode = (name: string | undefined): name is ErrorCode =>
  name !== undefined && Object.hasOwn(errors, name)

/** Status to the codes that an endpoint answers with it. */
export const codesOf = (
  failures: ReadonlyMap<number, ReadonlyArray<Schema.Top>>
): ReadonlyMap<number, ReadonlyArray<ErrorCode>> =>
  new Map(
    [...failures].map(([status, schemas]) => [
      status,
      [...new Set(schemas.map((schema) => SchemaAST.resolveIdentifier(schema.ast)).filter(isErrorCode))]
    ])
  )

export const requestId = { "X-Request-Id": { $ref: "#/components/headers/RequestId" } }

const outcomeUnknown =
  "With `details.outcome` `unknown` it may have been done: the database, the service or the Sandbox went away before its end was seen. Look before you repeat it; with the same Idempotency-Key, where there is one, it is not done twice. Retry-After, where there is one, says when the service can be asked again, not that the change may be repeated. Without `details.outcome` nothing was changed."

/** Codes of a change that was begun and whose result is unknown. */
const tellsOutcome: ReadonlySet<ErrorCode> = new Set(["INTERNAL", "SANDBOX_UNAVAILABLE", "SERVICE_UNAVAILABLE"])

export const errorResponse = (status: number, codes: ReadonlyArray<ErrorCode>, mayChange: boolean): Json => ({
  description: [
    codes.map((code) => `\`${code}\``).join(", "),
    ...(mayChange && codes.some((code) => tellsOutcome.has(code)) ? [outcomeUnknown] : [])
  ].join("\n\n"),
  headers: {
    ...requestId,
    Link: { $ref: "#/components/headers/Help" },
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

/** The body of every error, told apart by its code; what a later module knows of `details` is said here. */
export const withErrorUnion = (schemas: Record<string, Json>): Record<string, Json> => {
  const codes = Object.keys(errors) as ReadonlyArray<ErrorCode>
  const refOf = (code: ErrorCode) => `#/components/schemas/${bodyName(code)}`
  const { anyOf: _, ...told } = schemas["Error"]!
  const detailed = (code: ErrorCode, change: (details: Json) => Json): Record<string, Json> => {
    const schema = explained(code)
    const properties = schema["properties"] as Record<string, Json>
    return { [bodyName(code)]: { ...schema, properties: { ...properties, details: change(properties["details"]!) } } }
  }
  /** With its status, its default sentence, its cause and the next step. */
  const explained = (code: ErrorCode): Json => {
    const { message } = errorExamples[bodyName(code)]!.value
    const { cause, next } = errorHelp[code]
    const description = `${errorStatus[code]}. ${message}\n\nCause: ${cause}\n\nNext step: ${next}`
    return { ...schemas[bodyName(code)], description }
  }
  return {
    ...schemas,
    ...Object.fromEntries(codes.map((code) => [bodyName(code), explained(code)])),
    ...detailed("EXECUTION_TIMEOUT", () => ({ $ref: "#/components/schemas/ExecutionResult" })),
    ...detailed("SCOPE_REQUIRED", (details) => ({
      ...details,
      properties: { scope: { $ref: "#/components/schemas/Scope" } }
    })),
    Error: {
      ...told,
      oneOf: codes.map((code) => ({ $ref: refOf(code) })),
      discriminator: {
        propertyName: "code",
        mapping: Object.fromEntries(codes.map((code) => [code, refOf(code)]))
      }
    }
  }
}
