/**
 * Wraps every request: gives it an id, a metric, a log line, and an Error body if no handler answered.
 *
 * The line contains no headers and no bodies, so no key is ever logged.
 */
import type { IncomingMessage } from "node:http"
import { Cause, Context, Effect, Layer, Tracer } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Api } from "../../../schemas/Api.ts"
import { ConsoleApi } from "../../../schemas/console/ConsoleApi.ts"
import { OperatorApi } from "../../../schemas/console/OperatorApi.ts"
import {
  type ErrorCode,
  errorStatus,
  MethodNotAllowed,
  NotFound,
  type ServiceUnavailable
} from "../../../schemas/Errors.ts"
import { discardRest } from "../../access/gateway/discardRest.ts"
import { Audit } from "../../account/Audit.ts"
import { Settings } from "../../Config.ts"
import { DatabaseWatch } from "../../store/DatabaseWatch.ts"
import { auditCall, knownCall } from "./AuditedRequest.ts"
import { mayHaveChanged } from "./BegunRequest.ts"
import { errorCodeOf, errorResponse, invalidRequest } from "./ErrorResponse.ts"
import { faultError } from "./faultError.ts"
import { knownRoutes, methodsOf } from "./KnownRoutes.ts"
import { withLineEnd } from "./lineEnd.ts"
import { mcpPath } from "./McpRoute.ts"
import { operatorPaths } from "./OperatorRoutes.ts"
import { identify } from "./RequestId.ts"
import { type LogRequest, requestLog } from "./RequestLog.ts"
import { observeRequest } from "./RequestMetrics.ts"
import { pathOf } from "./RequestTarget.ts"
import { cutShort, stopping } from "./stopping.ts"

type Handler = Effect.Effect<HttpServerResponse.HttpServerResponse, unknown, never>

const unmatched = "unmatched"

const isRouteNotFound = (fault: unknown): boolean =>
  HttpServerError.isHttpServerError(fault) && fault.reason._tag === "RouteNotFound"

const routes = [
  ...knownRoutes(Api, operatorPaths),
  ...knownRoutes(ConsoleApi, []),
  ...knownRoutes(OperatorApi, []),
  { method: "POST", path: new RegExp(`^${mcpPath}$`) }
]

/** Without a route: 404, or 405 with the path's methods, or the answer to OPTIONS. */
const answerUnmatched = (request: HttpServerRequest.HttpServerRequest, requestId: string) => {
  const allow = methodsOf(routes, pathOf(request.source as IncomingMessage))
  if (request.method === "OPTIONS" && allow.length > 0) {
    return HttpServerResponse.empty({ status: 204, headers: { allow: allow.join(", ") } })
  }
  // The method exists: the router refused the path itself, because a segment is too long.
  if (allow.length === 0 || allow.includes(request.method)) {
    return errorResponse(
      new NotFound({
        message: "There is no such path. The reference at /docs lists them; so does GET /api/v2/openapi.json."
      }),
      requestId
    )
  }
  return errorResponse(new MethodNotAllowed({ details: { allow } }), requestId)
}

/** Never sent; only in the logs. */
const abandonedStatus = 499

/** The client has disconnected. */
const isAbandoned = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some((reason) => reason.annotations.has(HttpServerError.ClientAbort.key))

const routeOf = (context: Context.Context<never>): string =>
  Context.getOrUndefined(context as Context.Context<HttpRouter.RouteContext>, HttpRouter.RouteContext)?.route.path ??
  unmatched

/**
 * A span begins before its route is known, and gets the route's name at its end. Two requests with one id have two traces.
 *
 * @returns Its trace; null: the request is not traced.
 */
const nameSpan = (context: Context.Context<never>, name: string, requestId: string): string | null => {
  const span = Context.getOrUndefined(context as Context.Context<Tracer.ParentSpan>, Tracer.ParentSpan)
  if (span?._tag !== "Span" || span.kind !== "server" || !span.sampled) return null
  Object.assign(span, { name })
  span.attribute("atoll.request_id", requestId)
  return span.traceId
}

interface Surroundings {
  readonly audit: Audit["Service"]
  readonly database: DatabaseWatch["Service"]
  readonly log: LogRequest
}

const edge =
  ({ audit, database, log }: Surroundings) =>
  (handler: Handler) =>
    Effect.withFiber<HttpServerResponse.HttpServerResponse, unknown>((fiber) => {
      const request = Context.getUnsafe(
        fiber.context as Context.Context<HttpServerRequest.HttpServerRequest>,
        HttpServerRequest.HttpServerRequest
      )
      const source = request.source as IncomingMessage
      const requestId = identify(source)
      const began = performance.now()

      /** Records the metric and both logs; the returned effect, if any, writes the lines. */
      const note = (status: number, errorCode: ErrorCode | null): Effect.Effect<void> | null => {
        const durationMs = performance.now() - began
        const route = routeOf(fiber.context)
        const traceId = nameSpan(fiber.context, `${request.method} ${route}`, requestId)
        const call = knownCall(source)
        // A tool call that failed is a successful HTTP exchange.
        if (call !== null)
          auditCall(audit, source, call, errorCode === null ? status : errorStatus[errorCode], errorCode)
        if (status !== abandonedStatus) {
          observeRequest(fiber.context, { method: request.method, route, status, durationMs })
        }
        return log({ request: source, method: request.method, route, status, errorCode, durationMs, traceId, call })
      }

      const finish = (response: HttpServerResponse.HttpServerResponse) => {
        const line = note(response.status, errorCodeOf(response))
        discardRest(source)
        const answer = HttpServerResponse.setHeader(withLineEnd(response), "x-request-id", requestId)
        return line === null ? Effect.succeed(answer) : Effect.as(line, answer)
      }

      const unavailable = (error: ServiceUnavailable) => finish(errorResponse(error, requestId))

      // RFC 9112 section 3.2.
      if (source.headers.host === undefined && source.httpVersion === "1.1") {
        return finish(errorResponse(invalidRequest([{ path: ["Host"], message: "Required" }]), requestId))
      }
      // The router would decode the path, and cut it at a `;`.
      if (pathOf(source) === null) return finish(answerUnmatched(request, requestId))
      return Effect.matchCauseEffect(handler, {
        onSuccess: finish,
        onFailure: (cause) => {
          if (Cause.hasInterruptsOnly(cause)) {
            if (!isAbandoned(cause)) {
              return unavailable(mayHaveChanged(source) ? cutShort() : stopping())
            }
            return Effect.andThen(note(abandonedStatus, null) ?? Effect.void, Effect.failCause(cause))
          }
          if (isRouteNotFound(Cause.squash(cause))) return finish(answerUnmatched(request, requestId))
          return Effect.flatMap(faultError(cause, source, routeOf(fiber.context), database), (error) =>
            finish(errorResponse(error, requestId))
          )
        }
      })
    })

export const Edge = {
  layer: Layer.unwrap(
    Effect.gen(function* () {
      const { logLevel } = yield* Settings
      const surroundings = { audit: yield* Audit, database: yield* DatabaseWatch, log: requestLog(logLevel) }
      return HttpRouter.middleware(edge(surroundings) as never, { global: true })
    })
  ) as Layer.Layer<never, never, HttpRouter.HttpRouter | Settings | Audit | DatabaseWatch>
}
