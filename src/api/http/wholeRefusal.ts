/**
 * Refusals of malformed requests, with everything that is wrong: the decoder stops at the first part of a request, and a client whose
 * header is missing would learn of its body's mistakes only with the next request.
 */
import type { IncomingMessage } from "node:http"
import { Effect, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { type HttpApiEndpoint, HttpApiError } from "effect/http-api"
import type { InvalidRequest } from "../../../schemas/Errors.ts"
import { bodyKindOf } from "./admittedBody.ts"
import type { Handler } from "./answeredFailures.ts"
import { fromIssue, fromSchemaError, invalidRequest, issuesMax } from "./ErrorResponse.ts"
import { queryOf } from "./RequestTarget.ts"

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** As the decoder says it. */
const malformed = invalidRequest([{ path: [], message: "Expected a valid JSON body" }])

/** As the API's own decoder does (schemas/Api.ts). */
const options = { errors: "all", onExcessProperty: "error" } as const

/** What is wrong with a JSON body; null: nothing. */
const bodyCheck = (endpoint: HttpApiEndpoint.Top) => {
  const schemas = endpoint.payload.get("application/json")?.schemas
  if (schemas === undefined) return null
  const decode = Schema.decodeUnknownEffect(
    Schema.Union(schemas as ReadonlyArray<Schema.Codec<unknown, unknown>>),
    options
  )
  return (body: unknown): Effect.Effect<InvalidRequest | null> =>
    Effect.match(decode(body), {
      onFailure: ({ issue }) => fromIssue(issue, "Payload", body),
      onSuccess: () => null
    })
}

/** Wraps an endpoint's handler, which runs with the admitted request. */
export const refuseWhole = (handler: Handler, endpoint: HttpApiEndpoint.Top): Handler => {
  const isJson = bodyKindOf(endpoint).endsWith("json")
  const check = isJson ? bodyCheck(endpoint) : null

  const refusalOf = Effect.fnUntraced(function* (fault: HttpApiError.HttpApiSchemaError) {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { kind } = fault
    const body = isJson ? parsed(yield* Effect.orDie(request.text)) : undefined
    const given =
      kind === "Payload"
        ? body
        : kind === "Query"
          ? Object.fromEntries(queryOf(request.source as IncomingMessage))
          : null
    const refusal = fromSchemaError(fault, given)
    if (refusal._tag !== "INVALID_REQUEST" || kind === "Payload" || check === null) return refusal
    const inBody = body === undefined ? malformed : yield* check(body)
    const issues = [...refusal.details.issues, ...(inBody?.details.issues ?? [])]
    return invalidRequest(issues.slice(0, issuesMax))
  })

  return Effect.catch(handler, (fault) =>
    HttpApiError.HttpApiSchemaError.is(fault) && ["Params", "Headers", "Query", "Payload"].includes(fault.kind)
      ? Effect.flatMap(refusalOf(fault), Effect.fail)
      : Effect.fail(fault)
  ) as Handler
}
