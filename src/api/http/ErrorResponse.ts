/** Converts every failure to the contract's Error body. */
import { SchemaAST, SchemaIssue } from "effect"
import type { HttpServerResponse } from "effect/http"
import type { HttpApiError } from "effect/http-api"
import {
  type ContractError,
  type ErrorCode,
  errorStatus,
  errors,
  InvalidRequest,
  type Issue,
  NotFound
} from "../../../schemas/Errors.ts"
import { jsonTextAnswer } from "./JsonAnswer.ts"
import { nearest, unknownName } from "./UnknownName.ts"

export const isContractError = (fault: unknown): fault is ContractError =>
  fault instanceof Error && "_tag" in fault && typeof fault._tag === "string" && Object.hasOwn(errors, fault._tag)

/** A killed server restarts within a few seconds. */
const retryAfterSeconds = 2

/** Headers that a status needs beside the body. */
const ofStatus = (error: ContractError): Record<string, string> | undefined => {
  switch (error._tag) {
    case "UNAUTHENTICATED":
      return { "www-authenticate": "Bearer" }
    case "METHOD_NOT_ALLOWED":
      return { allow: error.details.allow.join(", ") }
    case "RATE_LIMITED":
      return { "retry-after": String(Math.max(1, Math.ceil(error.details.retryAfterSeconds))) }
    case "SERVICE_UNAVAILABLE":
      return { "retry-after": String(retryAfterSeconds) }
    default:
      return undefined
  }
}

/** These, and where the reference explains the code. @source RFC 8288; the relation `help` is of HTML */
export const headersOf = (error: ContractError): Record<string, string> => ({
  link: `</docs#${error._tag}>; rel="help"`,
  ...ofStatus(error)
})

const errorJson = (error: ContractError, requestId: string): string =>
  JSON.stringify({ code: error._tag, message: error.message, requestId, details: error.details ?? null })

/** The Error body, as a line, for responses written without the router. */
export const errorBody = (error: ContractError, requestId: string): string => `${errorJson(error, requestId)}\n`

/** The error codes of responses, whose bodies are already bytes. */
const codes = new WeakMap<HttpServerResponse.HttpServerResponse, ErrorCode>()

export const errorResponse = (error: ContractError, requestId: string): HttpServerResponse.HttpServerResponse => {
  const response = jsonTextAnswer(errorJson(error, requestId), errorStatus[error._tag], headersOf(error))
  codes.set(response, error._tag)
  return response
}

/** Marks a response that reports an error in a body of another form. */
export const tellsError = (response: HttpServerResponse.HttpServerResponse, code: ErrorCode): void =>
  void codes.set(response, code)

/** Null: the response reports no error. */
export const errorCodeOf = (response: HttpServerResponse.HttpServerResponse): ErrorCode | null =>
  codes.get(response) ?? null

export const issuesMax = 20

/** Placeholder before the known names for an unknown key: the key itself is in the path. */
const unknownKey = "\0"

const formatted = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => {
    if (issue._tag === "MissingKey") return String(issue.annotations?.["messageMissingKey"] ?? "Required")
    if (issue._tag !== "UnexpectedKey") return SchemaIssue.defaultLeafHook(issue)
    const { ast } = issue
    const names = SchemaAST.isObjects(ast) ? ast.propertySignatures.map(({ name }) => String(name)) : []
    return unknownKey + names.join(unknownKey)
  }
})

/** `Expected "vm" | "namespace"`: one of a few words. */
const fewWords = /^Expected ("[^"]*"(?: \| )?)+$/

/** A list in a query is one text. */
const partOf = (value: unknown, key: unknown): unknown => {
  if (typeof value === "string" && typeof key === "number") return value.split(",")[key]
  return typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)[String(key)]
    : undefined
}

const valueAt = (given: unknown, path: ReadonlyArray<unknown>): unknown => path.reduce(partOf, given)

const messageOf = (message: string, path: Issue["path"], given: unknown): string => {
  if (message.startsWith(unknownKey)) return unknownName(String(path.at(-1)), message.split(unknownKey).filter(Boolean))
  if (!fewWords.test(message)) return message
  const value = valueAt(given, path)
  const meant = typeof value === "string" ? nearest(value, message.match(/[^"]+(?="(?: \||$))/g) ?? []) : null
  return meant === null ? message : `${message}. The nearest is ${JSON.stringify(meant)}.`
}

const shownMaxCharacters = 128

/** Headers are decoded with lowercase names; errors show the usual spelling. */
const headerName = (key: string): string => key.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())

const issuePath = (path: ReadonlyArray<unknown>, kind: HttpApiError.HttpApiSchemaError["kind"]): Issue["path"] =>
  path.map((key, at) =>
    typeof key === "number" ? key : kind === "Headers" && at === 0 ? headerName(String(key)) : String(key)
  )

/**
 * Converts a decoder's issue.
 *
 * @param given The decoder's input, if it may be named in messages.
 */
export const fromIssue = (
  issue: SchemaIssue.Issue,
  kind: HttpApiError.HttpApiSchemaError["kind"],
  given: unknown = null
): InvalidRequest => {
  const { issues } = formatted(issue)
  return invalidRequest(
    issues.slice(0, issuesMax).map(({ path: found = [], message }) => {
      const path = issuePath(
        found.map((part) => (typeof part === "object" ? part.key : part)),
        kind
      )
      return {
        path: path.map((key) => (typeof key === "string" ? key.slice(0, shownMaxCharacters) : key)),
        message: messageOf(message, path, given)
      }
    })
  )
}

/** The same; a malformed id in the path is NOT_FOUND. */
export const fromSchemaError = (
  error: HttpApiError.HttpApiSchemaError,
  given: unknown = null
): InvalidRequest | NotFound =>
  error.kind === "Params" ? new NotFound() : fromIssue(error.cause.issue, error.kind, given)

export const invalidRequest = (issues: ReadonlyArray<Issue>): InvalidRequest =>
  new InvalidRequest({ details: { issues } })
