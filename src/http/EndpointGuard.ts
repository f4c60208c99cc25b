/**
 * What happens before an endpoint's handler: key, scope, media type, size; and after it: every failure becomes the Error body.
 *
 * Built once for each endpoint, so that a request only does what its endpoint needs.
 *
 * @source contract-details.md "Order of checks"
 */
import type { IncomingMessage } from "node:http"
import { Cause, Context, Effect, Layer } from "effect"
import { Headers, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { type HttpApiEndpoint, HttpApiError } from "effect/http-api"
import { Authorized, Caller, Open, OptionalBody, ReadOnly, RequiredScope } from "../../schemas/Access.ts"
import {
  AccountSuspended,
  type ContractError,
  ScopeRequired,
  Unauthenticated,
  UnsupportedMediaType
} from "../../schemas/Errors.ts"
import { fileContentMaxBytes } from "../../schemas/Limits.ts"
import { Authentication, type Credential } from "../account/Authentication.ts"
import { ChangeWitness } from "../store/Change.ts"
import { auditedEndpoint } from "./AuditedEndpoint.ts"
import { noteCaller } from "./AuditedRequest.ts"
import { noteBegun } from "./BegunRequest.ts"
import { errorResponse, fromSchemaError, isContractError } from "./ErrorResponse.ts"
import { isMediaType, readJsonText, refuseLength } from "./JsonBody.ts"
import { knownQuery, refuseQuery } from "./KnownQuery.ts"
import { requestIdOf } from "./RequestId.ts"

type Handler = Effect.Effect<HttpServerResponse.HttpServerResponse, unknown, never>

/** Contract errors and what the decoders found become answers; everything else goes on as it is, to end as 500. */
const answerFailures = (handler: Handler): Handler =>
  Effect.catchCause(handler, (cause) => {
    for (const reason of cause.reasons) {
      if (!Cause.isFailReason(reason)) return Effect.failCause(cause)
      const fault = reason.error
      const error: ContractError | null = isContractError(fault)
        ? fault
        : HttpApiError.HttpApiSchemaError.is(fault) && fault.kind !== "Body" && fault.kind !== "ResponseHeaders"
          ? fromSchemaError(fault)
          : null
      if (error === null) return Effect.die(fault)
      return Effect.map(HttpServerRequest.HttpServerRequest, (request) =>
        errorResponse(error, requestIdOf(nodeRequest(request)))
      ) as Effect.Effect<HttpServerResponse.HttpServerResponse>
    }
    return Effect.failCause(cause)
  })

/** @source RFC 9110 section 11.1: the scheme's name is case-insensitive */
const bearer = /^bearer +([\x21-\x7e]{1,512})$/i

const nodeRequest = (request: HttpServerRequest.HttpServerRequest): IncomingMessage => request.source as IncomingMessage

const json = "application/json"

/**
 * The request with its body already read. The media type was judged with it, and an absent body has none, whatever the header says:
 * the decoder behind would judge the header again by rules of its own, and answer without the Error body.
 */
const withText = (request: HttpServerRequest.HttpServerRequest, text: string): HttpServerRequest.HttpServerRequest =>
  Object.create(request, {
    text: { value: Effect.succeed(text) },
    ...(request.headers["content-type"] === json
      ? {}
      : { headers: { value: Headers.set(request.headers, "content-type", json) } })
  })

type BodyKind = "none" | "json" | "optional-json" | "octet-stream"

const bodyKindOf = (endpoint: HttpApiEndpoint.Top): BodyKind => {
  if (endpoint.method === "GET" || endpoint.payload.size === 0) return "none"
  if (endpoint.payload.has("application/octet-stream")) return "octet-stream"
  return Context.get(endpoint.annotations, OptionalBody) ? "optional-json" : "json"
}

/** Media type and size; for JSON also the reading. Octet streams are counted by who reads them. */
const admitBody = (
  request: HttpServerRequest.HttpServerRequest,
  kind: BodyKind
): Effect.Effect<HttpServerRequest.HttpServerRequest, ContractError> => {
  if (kind === "none") return Effect.succeed(request)
  const source = nodeRequest(request)
  if (kind === "octet-stream") {
    if (!isMediaType(source, "application/octet-stream")) {
      return Effect.fail(new UnsupportedMediaType({ details: { expected: "application/octet-stream" } }))
    }
    const refused = refuseLength(source, fileContentMaxBytes)
    return refused === null ? Effect.succeed(request) : Effect.fail(refused)
  }
  return Effect.map(readJsonText(source, kind === "optional-json"), (text) => withText(request, text))
}

const callerOf = (credential: Credential, requestId: string): Caller["Service"] => ({
  accountId: credential.accountId,
  apiKeyId: credential.apiKeyId,
  keyHint: credential.hint,
  scopes: credential.scopes,
  exhaustedAt: credential.exhaustedAt,
  requestId
})

const suspended = Effect.fail(new AccountSuspended())

const guard = (authentication: Authentication["Service"], handler: Handler, endpoint: HttpApiEndpoint.Top): Handler => {
  const scope = Context.get(endpoint.annotations as Context.Context<RequiredScope>, RequiredScope)
  const kind = bodyKindOf(endpoint)
  const audited = auditedEndpoint(endpoint)
  const mayChange = endpoint.method !== "GET" && !Context.get(endpoint.annotations, ReadOnly)
  const known = knownQuery(endpoint)
  /** Added one by one to the request's context, which shares what is in it; to merge another into it would copy all. */
  const surrounded = (caller: Caller["Service"], request: HttpServerRequest.HttpServerRequest): Handler =>
    Effect.updateContext(handler, (context: Context.Context<never>) => {
      const withCaller = Context.add(context, Caller, caller)
      if (!mayChange) return withCaller
      const source = nodeRequest(request)
      return Context.add(withCaller, ChangeWitness, () => noteBegun(source))
    })
  const denied = Effect.fail(new ScopeRequired({ details: { scope } }))
  return Effect.withFiber((fiber) => {
    const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
    const secret = bearer.exec(request.headers["authorization"] ?? "")?.[1]
    if (secret === undefined) return Effect.fail(new Unauthenticated())
    return Effect.flatMap(authentication.authenticate(secret), (credential) => {
      if (audited !== null) noteCaller(nodeRequest(request), credential, audited)
      if (credential.isSuspended) return suspended
      if (!credential.scopes.has(scope)) return denied
      const caller = callerOf(credential, requestIdOf(nodeRequest(request)))
      if (kind === "none") {
        const refused = refuseQuery(request, known)
        if (refused !== null) return Effect.fail(refused)
        return surrounded(caller, request)
      }
      return Effect.flatMap(admitBody(request, kind), (admitted) => {
        const refused = refuseQuery(request, known)
        if (refused !== null) return Effect.fail(refused)
        return Effect.provideService(surrounded(caller, request), HttpServerRequest.HttpServerRequest, admitted)
      })
    })
  })
}

export const EndpointGuard = {
  layer: Layer.merge(
    Layer.effect(
      Authorized,
      Effect.map(
        Authentication,
        (authentication) =>
          ((handler: Handler, { endpoint }: { readonly endpoint: HttpApiEndpoint.Top }) =>
            answerFailures(guard(authentication, handler, endpoint))) as never
      )
    ),
    Layer.succeed(Open, ((handler: Handler, { endpoint }: { readonly endpoint: HttpApiEndpoint.Top }) => {
      const known = knownQuery(endpoint)
      const open = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const refused = refuseQuery(request, known)
        return refused === null ? handler : Effect.fail(refused)
      })
      return answerFailures(open as Handler)
    }) as never)
  )
}
