/**
 * `GET /api/v2/tunnel?port=N` as a WebSocket: one TCP connection into a Sandbox, with a sealed capability and without an API key.
 *
 * Every refusal comes before the handshake, with the contract's Error body, so that a client sees the reason.
 *
 * @source contract-details.md "Fine print"; schemas/ServiceAccess.ts
 */

import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { Context, Effect, FiberSet, Layer } from "effect"
import { WebSocketServer } from "ws"
import { serviceAccessMachine } from "../../../machines/serviceAccess.ts"
import type { ServiceAccessContext } from "../../../schemas/contexts/ServiceAccess.ts"
import {
  type ContractError,
  errorStatus,
  Internal,
  RateLimited,
  SandboxUnavailable,
  ServiceUnavailable
} from "../../../schemas/Errors.ts"
import { tunnelPath as path } from "../../../schemas/OpenApiTunnel.ts"
import { discardRest } from "../../access/gateway/discardRest.ts"
import { LiveConnections } from "../../access/gateway/LiveConnections.ts"
import type { RawGateway } from "../../access/gateway/RawGateway.ts"
import { SandboxReach } from "../../access/gateway/SandboxReach.ts"
import { endSoon, whenClosed } from "../../access/gateway/socketEnd.ts"
import { type Admission, ServiceAccesses } from "../../access/serviceAccess/ServiceAccesses.ts"
import { bridge, tunnelMessageMaxBytes, tunnelProtocol } from "../../access/serviceAccess/tunnelBridge.ts"
import { Audit } from "../../account/Audit.ts"
import { isTagged } from "../../engine/taggedStates.ts"
import { isDatabaseFault } from "../../store/DatabaseFault.ts"
import { DatabaseWatch } from "../../store/DatabaseWatch.ts"
import { auditedTunnels } from "./AuditedTunnel.ts"
import { errorBody, headersOf, invalidRequest, isContractError } from "./ErrorResponse.ts"
import { rawAnswer } from "./RawAnswer.ts"
import { identify, requestIdOf } from "./RequestId.ts"
import { pathOf } from "./RequestTarget.ts"
import { capabilityOf, checkOf, methodNotAllowed, unauthenticated, wantedOf } from "./TunnelRequest.ts"

/** Never sent; only in the audit log. */
const abandonedStatus = 499
const upgradedStatus = 101

const isUsable = isTagged(serviceAccessMachine, "usable")

const faultOf = (database: DatabaseWatch["Service"], defect: unknown): Effect.Effect<never, ContractError> =>
  isDatabaseFault(defect)
    ? Effect.andThen(database.fault(defect), Effect.fail(new ServiceUnavailable()))
    : Effect.andThen(Effect.logError("A tunnel met a defect", defect), Effect.fail(new Internal()))

/** A success, or the refusal. */
const answeredBy =
  (database: DatabaseWatch["Service"]) =>
  <A>(outcome: Effect.Effect<A, ContractError>): Effect.Effect<A | ContractError> =>
    outcome.pipe(
      Effect.catchDefect((defect) => faultOf(database, defect)),
      Effect.catch((error) => Effect.succeed(error))
    )

const make = Effect.gen(function* () {
  const accesses = yield* ServiceAccesses
  const connections = yield* LiveConnections
  const reach = yield* SandboxReach
  const database = yield* DatabaseWatch
  const fork = yield* FiberSet.makeRuntime()
  const audited = auditedTunnels(yield* Audit, path)

  const refuse = (socket: Duplex, error: ContractError, request: IncomingMessage): void => {
    const requestId = requestIdOf(request)
    const status = errorStatus[error._tag]
    audited.answered(request, status, error._tag)
    endSoon(socket, rawAnswer(status, errorBody(error, requestId), requestId, headersOf(error)))
  }

  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: tunnelMessageMaxBytes,
    handleProtocols: (offered) => (offered.has(tunnelProtocol) ? tunnelProtocol : false)
  })
  sockets.on("headers", (headers, request) => headers.push(`X-Request-Id: ${requestIdOf(request)}`))
  // The default response would be an HTML page.
  sockets.on("wsClientError", (fault, socket, request) =>
    refuse(socket, invalidRequest([{ path: [], message: fault.message }]), request)
  )

  const dial = (admission: Admission) =>
    reach.dial(admission, admission.port).pipe(
      Effect.catchTags({
        PortClosed: () =>
          Effect.fail(
            new SandboxUnavailable({
              message: `Nothing in the Sandbox listens on port ${admission.port}.`,
              details: { status: "running" }
            })
          ),
        GuestUnavailable: () => Effect.fail(new SandboxUnavailable({ details: { status: null } }))
      })
    )

  /** From the handshake to the end of the connection. */
  const carried = Effect.fnUntraced(function* (
    admission: Admission,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer
  ) {
    const stream = yield* dial(admission)
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      audited.answered(request, upgradedStatus, null)
      bridge(webSocket, stream)
    })
    yield* whenClosed(socket)
  }, Effect.scoped)

  const open = Effect.fnUntraced(function* (request: IncomingMessage, socket: Duplex, head: Buffer) {
    if (request.method !== "GET") return yield* methodNotAllowed()
    const wanted = wantedOf(request)
    if (isContractError(wanted)) return yield* Effect.fail(wanted)
    const capability = capabilityOf(request)
    if (capability === null) return yield* unauthenticated()
    const claims = yield* accesses.recognise(capability)
    audited.recognised(request, claims)
    const admission = yield* accesses.admit(claims, wanted.port, wanted.client)
    audited.admitted(request, admission.generationId)
    const connection = {
      ...admission,
      mayGoOn: ({ status, context }: { readonly status: string; readonly context: unknown }) =>
        isUsable(status) && (context as ServiceAccessContext).client === admission.client
    }
    yield* connections
      .carry(connection, carried(admission, request, socket, head))
      .pipe(
        Effect.catchTag("TooManyConnections", () => Effect.fail(new RateLimited({ details: { retryAfterSeconds: 1 } })))
      )
  })

  const checked = checkOf(accesses)

  const answered = answeredBy(database)

  const gateway: RawGateway = {
    takes: (request) => pathOf(request) === path,
    request: (request, response) => {
      const requestId = identify(request)
      fork(
        Effect.map(answered(checked(request)), (error) => {
          if (response.destroyed) return
          response.writeHead(errorStatus[error._tag], {
            "Content-Type": "application/json",
            "X-Request-Id": requestId,
            ...headersOf(error)
          })
          response.end(errorBody(error, requestId))
          discardRest(request)
        })
      )
    },
    upgrade: (request, socket, head) => {
      socket.on("error", () => {})
      identify(request)
      fork(
        answered(open(request, socket, head)).pipe(
          Effect.map((error) => {
            if (error !== undefined) refuse(socket, error, request)
          }),
          // When the client disconnects, everything held for it is released.
          Effect.raceFirst(whenClosed(socket)),
          Effect.onInterrupt(() => Effect.sync(() => socket.destroy())),
          Effect.ensuring(Effect.sync(() => audited.answered(request, abandonedStatus, null)))
        )
      )
    }
  }
  return gateway
})

export class TunnelGateway extends Context.Service<TunnelGateway, RawGateway>()("atoll/api/http/TunnelGateway") {
  /** Needs ServiceAccesses, LiveConnections and SandboxReach. */
  static readonly layer = Layer.effect(TunnelGateway, make)
}
