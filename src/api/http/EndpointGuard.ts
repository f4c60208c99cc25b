/**
 * Checks before an endpoint's handler: key or session, scope, media type, size. Afterwards it turns every failure into the Error body.
 *
 * Built once for each endpoint, so that a request runs only the checks of its endpoint.
 *
 * @source contract-details.md "Order of checks"
 */
import type { IncomingMessage } from "node:http"
import { Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import {
  AlsoSuspended,
  Authorized,
  Caller,
  CookieAlone,
  FromConsole,
  MayBeLarge,
  Open,
  ReadOnly,
  RequiredScope,
  SignedIn
} from "../../../schemas/Access.ts"
import { AccountSuspended, CrossSiteRequest, ScopeRequired, Unauthenticated } from "../../../schemas/Errors.ts"
import { clientAddress } from "../../access/gateway/Clients.ts"
import { Authentication, type Credential } from "../../account/Authentication.ts"
import { Sessions } from "../../console/server/Sessions.ts"
import { ChangeWitness } from "../../store/Change.ts"
import { auditedEndpoint } from "./AuditedEndpoint.ts"
import { noteCaller } from "./AuditedRequest.ts"
import { admitBody, bodyKindOf } from "./admittedBody.ts"
import { answerFailures, type Handler } from "./answeredFailures.ts"
import { noteBegun } from "./BegunRequest.ts"
import { bearerOf } from "./bearerOf.ts"
import { knownQuery, refuseQuery } from "./KnownQuery.ts"
import { LargeAnswers } from "./LargeAnswers.ts"
import { requestIdOf } from "./RequestId.ts"
import { isFromItsPage, isSameOrigin, SessionCookie } from "./SessionCookie.ts"
import { refuseWhole } from "./wholeRefusal.ts"

const nodeRequest = (request: HttpServerRequest.HttpServerRequest): IncomingMessage => request.source as IncomingMessage

const callerOf = (credential: Credential, requestId: string): Caller["Service"] => ({
  accountId: credential.accountId,
  apiKeyId: credential.apiKeyId,
  sessionId: credential.sessionId,
  keyHint: credential.hint,
  scopes: credential.scopes,
  exhaustedAt: credential.exhaustedAt,
  requestId
})

const suspended = Effect.fail(new AccountSuspended())
const crossSite = Effect.fail(new CrossSiteRequest())
const unauthenticated = Effect.fail(new Unauthenticated())

/** Authenticates a request. */
type Identify = (request: IncomingMessage) => Effect.Effect<Credential, Unauthenticated>

const guard = (
  identify: Identify,
  largeAnswers: LargeAnswers["Service"],
  given: Handler,
  endpoint: HttpApiEndpoint.Top
): Handler => {
  const handler = refuseWhole(given, endpoint)
  /** Absent: only sessions may call it, and a session has all scopes. */
  const scope = Context.getOrUndefined(endpoint.annotations as Context.Context<RequiredScope>, RequiredScope)
  const admitsSuspended = Context.get(endpoint.annotations, AlsoSuspended)
  const admitsCookieAlone = Context.get(endpoint.annotations, CookieAlone)
  const kind = bodyKindOf(endpoint)
  const audited = auditedEndpoint(endpoint)
  const mayChange = endpoint.method !== "GET" && !Context.get(endpoint.annotations, ReadOnly)
  const known = knownQuery(endpoint)
  const mayBeLarge = Context.get(endpoint.annotations, MayBeLarge)
  /** Services are added one by one to the request's context, which shares its entries; a merge would copy all. */
  const surrounded = (caller: Caller["Service"], request: HttpServerRequest.HttpServerRequest): Handler =>
    Effect.updateContext(handler, (context: Context.Context<never>) => {
      const withCaller = Context.add(context, Caller, caller)
      if (!mayChange) return withCaller
      const source = nodeRequest(request)
      return Context.add(withCaller, ChangeWitness, () => noteBegun(source))
    })
  const denied = Effect.fail(ScopeRequired.of(scope ?? ""))
  return Effect.withFiber((fiber) => {
    const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
    return Effect.flatMap(identify(nodeRequest(request)), (credential) => {
      if (audited !== null) noteCaller(nodeRequest(request), credential, audited)
      if (credential.sessionId !== null && !isFromItsPage(nodeRequest(request), admitsCookieAlone)) return crossSite
      if (credential.isSuspended && !admitsSuspended) return suspended
      if (scope !== undefined && !credential.scopes.has(scope)) return denied
      const caller = callerOf(credential, requestIdOf(nodeRequest(request)))
      if (kind === "none") {
        const refused = refuseQuery(request, known)
        if (refused !== null) return Effect.fail(refused)
        const answer = surrounded(caller, request)
        return mayBeLarge ? largeAnswers.inTurn(caller.accountId, request, answer) : answer
      }
      return Effect.flatMap(admitBody(request, kind), (admitted) => {
        const refused = refuseQuery(request, known)
        if (refused !== null) return Effect.fail(refused)
        const answer = Effect.provideService(surrounded(caller, request), HttpServerRequest.HttpServerRequest, admitted)
        // A failure may be large, too: that of a command that took too long has its output.
        return mayBeLarge ? largeAnswers.onceRead(caller.accountId, request, answerFailures(answer)) : answer
      })
    })
  })
}

/** For callers that are not signed in yet: checks the page's origin, and requires a JSON body, which no form sends. */
const entrance = (given: Handler, endpoint: HttpApiEndpoint.Top): Handler => {
  const handler = refuseWhole(given, endpoint)
  const audited = auditedEndpoint(endpoint)
  const kind = bodyKindOf(endpoint)
  const known = knownQuery(endpoint)
  return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const source = nodeRequest(request)
    if (!isSameOrigin(source)) return crossSite
    if (audited !== null) noteCaller(source, null, audited)
    return Effect.flatMap(admitBody(request, kind), (admitted) => {
      const refused = refuseQuery(request, known)
      if (refused !== null) return Effect.fail(refused)
      return handler.pipe(
        Effect.provideService(ChangeWitness, () => noteBegun(source)),
        Effect.provideService(HttpServerRequest.HttpServerRequest, admitted)
      )
    })
  }) as Handler
}

type Around = (handler: Handler, at: { readonly endpoint: HttpApiEndpoint.Top }) => Handler

const authorized = Effect.gen(function* () {
  const authentication = yield* Authentication
  const sessions = yield* Sessions
  const cookie = yield* SessionCookie
  const largeAnswers = yield* LargeAnswers
  const bySession: Identify = (request) => {
    const token = cookie.read(request)
    return token === null ? unauthenticated : sessions.authenticate(token)
  }
  const byKey: Identify = (request) => {
    const secret = bearerOf(request)
    if (secret === null) return unauthenticated
    return authentication.authenticate(secret, clientAddress(request))
  }
  const either: Identify = (request) =>
    request.headers.authorization === undefined && request.headers.cookie !== undefined
      ? bySession(request)
      : byKey(request)
  return {
    either: ((handler, { endpoint }) =>
      answerFailures(guard(either, largeAnswers, handler, endpoint))) satisfies Around,
    session: ((handler, { endpoint }) =>
      answerFailures(guard(bySession, largeAnswers, handler, endpoint))) satisfies Around
  }
})

const open: Around = (handler, { endpoint }) => {
  const known = knownQuery(endpoint)
  const opened = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const refused = refuseQuery(request, known)
    return refused === null ? handler : Effect.fail(refused)
  })
  return answerFailures(opened as Handler)
}

export const EndpointGuard = {
  layer: Layer.mergeAll(
    Layer.effect(
      Authorized,
      Effect.map(authorized, ({ either }) => either as never)
    ),
    Layer.effect(
      SignedIn,
      Effect.map(authorized, ({ session }) => session as never)
    ),
    Layer.succeed(FromConsole, ((handler: Handler, { endpoint }: { readonly endpoint: HttpApiEndpoint.Top }) =>
      answerFailures(entrance(handler, endpoint))) as never),
    Layer.succeed(Open, open as never)
  ).pipe(Layer.provide(LargeAnswers.layer))
}
