/**
 * `GET /api/v2/sandboxes/{id}/terminal` as a WebSocket: a shell in a Sandbox, for callers with a key or a ticket of the console.
 *
 * The router serves only plain requests, so the checks of EndpointGuard.ts run here, in the same order and by the endpoint's own annotations.
 * Every refusal comes before the handshake, with the Error body.
 *
 * @source schemas/Terminal.ts; contract-details.md "Order of checks"
 */
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { Context, Deferred, Effect, FiberSet, Layer, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { type WebSocket, WebSocketServer } from "ws"
import { RequiredScope } from "../../../schemas/Access.ts"
import {
  AccountSuspended,
  type ContractError,
  CrossSiteRequest,
  errorStatus,
  Internal,
  NotFound,
  ScopeRequired,
  ServiceUnavailable,
  Unauthenticated
} from "../../../schemas/Errors.ts"
import { SandboxId } from "../../../schemas/Identifiers.ts"
import { terminalInputMaxBytes } from "../../../schemas/Limits.ts"
import { terminalProtocol, terminalQuery } from "../../../schemas/Terminal.ts"
import { clientAddress } from "../../access/gateway/Clients.ts"
import type { RawGateway } from "../../access/gateway/RawGateway.ts"
import { endSoon, whenClosed } from "../../access/gateway/socketEnd.ts"
import { looksLikeSecret } from "../../account/ApiKeySecret.ts"
import { Audit } from "../../account/Audit.ts"
import { Authentication, type Credential } from "../../account/Authentication.ts"
import { Tickets } from "../../console/server/Tickets.ts"
import { OwnerAway } from "../../engine/ActorError.ts"
import { carryTerminal, closeSoon, type Ending, TerminalSocket } from "../../operation/terminal/carryTerminal.ts"
import { Terminals } from "../../operation/terminal/Terminals.ts"
import { Shutdown } from "../../platform/shutdown/Shutdown.ts"
import { isDatabaseFault } from "../../store/DatabaseFault.ts"
import { DatabaseWatch } from "../../store/DatabaseWatch.ts"
import { auditedEndpoint } from "./AuditedEndpoint.ts"
import { auditRequest, noteCaller } from "./AuditedRequest.ts"
import { ownerAway } from "./BegunRequest.ts"
import { bearerOf } from "./bearerOf.ts"
import { Callers } from "./Callers.ts"
import { endpointNamed } from "./Endpoints.ts"
import { errorBody, fromSchemaError, headersOf, invalidRequest } from "./ErrorResponse.ts"
import { knownQuery, refuseQuery } from "./KnownQuery.ts"
import { OpenStreams } from "./OpenStreams.ts"
import { rawAnswer } from "./RawAnswer.ts"
import { identify, requestIdOf } from "./RequestId.ts"
import { pathOf } from "./RequestTarget.ts"
import { isSameOrigin } from "./SessionCookie.ts"

const endpoint = endpointNamed("openTerminal")
const audited = auditedEndpoint(endpoint)!
const scope = Context.get(endpoint.annotations as Context.Context<RequiredScope>, RequiredScope)
const known = knownQuery(endpoint)
const isSandboxId = Schema.is(SandboxId)
const path = new RegExp(`^${endpoint.path.replace(":id", "([^/]+)")}$`)

/** Never sent; only in the audit log. */
const abandonedStatus = 499
const upgradedStatus = 101

const stopping: Ending = { code: 1001, reason: "The service is stopping. Open another terminal in a moment." }
const over: Ending = { code: 1011, reason: "The Sandbox does not run any more." }
const disallowed: Ending = { code: 1008, reason: "The key or session has ended, or the account is suspended." }

export const noHandshake = () =>
  invalidRequest([{ path: ["Upgrade"], message: "Expected a WebSocket handshake (RFC 6455, version 13)" }])

const isHandshake = ({ headers }: IncomingMessage): boolean =>
  /^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "") && headers["sec-websocket-version"] === "13"

/** A ticket or an API key, the subprotocol after `atoll.terminal`: browsers cannot set headers. */
const offeredSecretOf = ({ headers }: IncomingMessage): string | null => {
  const [first, second] = (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim())
  return first === terminalProtocol && second ? second : null
}

const decodeQuery = Schema.decodeUnknownEffect(Schema.Struct(terminalQuery), { errors: "all" })

const sizeOf = (request: IncomingMessage) => {
  const refused = refuseQuery(request, known)
  if (refused !== null) return Effect.fail(refused)
  if (!isHandshake(request)) return Effect.fail(noHandshake())
  const given = HttpServerRequest.searchParamsFromURL(new URL(request.url!, "http://atoll"))
  return HttpApiError.HttpApiSchemaError.wrap("Query", decodeQuery(given)).pipe(Effect.mapError(fromSchemaError))
}

/** Takes a place among the account's streams until the scope ends. `end` is called when the key or session ends. */
export const terminalStream = (
  streams: OpenStreams["Service"],
  { accountId, apiKeyId, sessionId }: Pick<Credential, "accountId" | "apiKeyId" | "sessionId">,
  end: () => void
) =>
  Effect.acquireRelease(streams.open({ accountId, credentialId: apiKeyId ?? sessionId ?? "", end }), (leave) =>
    Effect.sync(leave)
  )

const make = Effect.gen(function* () {
  const authentication = yield* Authentication
  const tickets = yield* Tickets
  const streams = yield* OpenStreams
  const terminals = yield* Terminals
  const shutdown = yield* Shutdown
  const audit = yield* Audit
  const database = yield* DatabaseWatch
  const fork = yield* FiberSet.makeRuntime()
  const told = new WeakSet<IncomingMessage>()

  /** The first call counts. */
  const answered = (request: IncomingMessage, status: number, error: ContractError | null): void => {
    if (told.has(request)) return
    told.add(request)
    auditRequest(audit, request, status, error?._tag ?? null)
  }

  const refuse = (socket: Duplex, error: ContractError, request: IncomingMessage): void => {
    const requestId = requestIdOf(request)
    const status = errorStatus[error._tag]
    answered(request, status, error)
    endSoon(socket, rawAnswer(status, errorBody(error, requestId), requestId, headersOf(error)))
  }

  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: terminalInputMaxBytes,
    handleProtocols: (offered) => (offered.has(terminalProtocol) ? terminalProtocol : false),
    WebSocket: TerminalSocket
  })
  // The default response would be an HTML page.
  sockets.on("wsClientError", (fault, socket, request) =>
    refuse(socket, invalidRequest([{ path: [], message: fault.message }]), request)
  )
  sockets.on("headers", (headers, request) => void headers.push(`X-Request-Id: ${requestIdOf(request)}`))

  /** Never resumes if the handshake is refused; the caller also waits for the end of the connection. */
  const upgraded = (request: IncomingMessage, socket: Duplex, head: Buffer) =>
    Effect.callback<WebSocket>((resume) =>
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        webSocket.pause()
        webSocket.on("error", () => {})
        answered(request, upgradedStatus, null)
        resume(Effect.succeed(webSocket))
      })
    )

  const recognised = Effect.fnUntraced(function* (request: IncomingMessage) {
    const offered = request.headers.authorization === undefined ? offeredSecretOf(request) : null
    const key = offered !== null && looksLikeSecret(offered) ? offered : bearerOf(request)
    if (key !== null) return yield* authentication.authenticate(key, clientAddress(request))
    return yield* offered === null ? Effect.fail(new Unauthenticated()) : tickets.redeem(offered)
  })

  /** From the request to the end of the shell. */
  const open = Effect.fnUntraced(function* (request: IncomingMessage, socket: Duplex, head: Buffer) {
    const credential: Credential = yield* recognised(request)
    noteCaller(request, credential, audited)
    if (credential.sessionId !== null && !isSameOrigin(request)) return yield* new CrossSiteRequest()
    if (credential.isSuspended) return yield* new AccountSuspended()
    if (!credential.scopes.has(scope)) return yield* ScopeRequired.of(scope)
    const size = yield* sizeOf(request)
    const sandboxId = path.exec(pathOf(request)!)![1]!
    if (!isSandboxId(sandboxId)) return yield* new NotFound()

    const ending = yield* Deferred.make<Ending>()
    const end = (how: Ending) => void Deferred.doneUnsafe(ending, Effect.succeed(how))
    const { shell } = yield* terminals.enter({ ...credential, sandboxId }, (why) =>
      end(why === "stopping" ? stopping : over)
    )
    yield* terminalStream(streams, credential, () => end(shutdown.hasBegun() ? stopping : disallowed))
    const channel = yield* shell(size)
    const webSocket = yield* upgraded(request, socket, head)
    closeSoon(webSocket, yield* Effect.raceFirst(carryTerminal(webSocket, channel), Deferred.await(ending)))
  }, Effect.scoped)

  const refusalOf = (defect: unknown): Effect.Effect<never, Internal | ServiceUnavailable> => {
    if (isDatabaseFault(defect)) return Effect.andThen(database.fault(defect), Effect.fail(new ServiceUnavailable()))
    if (defect instanceof OwnerAway) return Effect.fail(ownerAway(false))
    return Effect.andThen(Effect.logError("A terminal met a defect", defect), Effect.fail(new Internal()))
  }

  const gateway: RawGateway = {
    takes: (request) =>
      // The raw property: node:http asks before it decides.
      (request as { readonly upgrade?: boolean }).upgrade === true &&
      request.method === "GET" &&
      /^websocket$/i.test(request.headers.upgrade ?? "") &&
      path.test(pathOf(request) ?? ""),
    request: null,
    upgrade: (request, socket, head) => {
      socket.on("error", () => {})
      identify(request)
      fork(
        open(request, socket, head).pipe(
          Effect.catchDefect(refusalOf),
          Effect.catch((error) => Effect.sync(() => refuse(socket, error, request))),
          // When the client disconnects, everything held for it is released.
          Effect.raceFirst(whenClosed(socket)),
          Effect.onInterrupt(() => Effect.sync(() => socket.destroy())),
          Effect.ensuring(Effect.sync(() => answered(request, abandonedStatus, null)))
        )
      )
    }
  }
  return gateway
})

export class TerminalGateway extends Context.Service<TerminalGateway, RawGateway>()("atoll/api/http/TerminalGateway") {
  /** Needs Terminals, Shutdown, Audit and the database. */
  static readonly layer = Layer.effect(TerminalGateway, make).pipe(Layer.provide(Callers.layer))
}
