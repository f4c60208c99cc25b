/**
 * The line of a request in the service's log. By its level:
 *
 * - `warn`: the status was 5xx, except 503: an outage is logged once, not for each request.
 * - `info`: a known caller requested a change, made or refused.
 * - `debug`: everything else: reads, and requests of unknown callers.
 *
 * A line has no raw path, query, header or body: no capability, no preview's id, no key except its hint.
 */
import type { IncomingMessage } from "node:http"
import { Effect } from "effect"
import { clientAddress } from "../../access/gateway/Clients.ts"
import type { SettingsShape } from "../../Config.ts"
import type { KnownCall } from "./AuditedRequest.ts"
import { requestIdOf } from "./RequestId.ts"

interface Answered {
  readonly request: IncomingMessage
  readonly method: string
  /** A template, as `/api/v2/sandboxes/:id`. */
  readonly route: string
  readonly status: number
  /** From the Error body of the response. */
  readonly errorCode: string | null
  readonly durationMs: number
  readonly traceId: string | null
  readonly call: KnownCall | null
}

/** Null: the request has no line. */
export type LogRequest = (answered: Answered) => Effect.Effect<void> | null

const levels = ["debug", "info", "warn", "error"] as const

type Level = "debug" | "info" | "warn"

const levelOf = ({ status, call }: Answered): Level => {
  if (status >= 500 && status !== 503) return "warn"
  return call?.changes ? "info" : "debug"
}

const line: Readonly<Record<Level, Effect.Effect<void>>> = {
  debug: Effect.logDebug("request"),
  info: Effect.logInfo("request"),
  warn: Effect.logWarning("request")
}

const withoutNulls = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const kept: Record<string, unknown> = {}
  for (const name in fields) if (fields[name] !== null && fields[name] !== undefined) kept[name] = fields[name]
  return kept
}

/** @param least The lowest level that is logged. */
export const requestLog =
  (least: SettingsShape["logLevel"]): LogRequest =>
  (answered) => {
    const level = levelOf(answered)
    if (levels.indexOf(level) < levels.indexOf(least)) return null
    const { request, method, route, status, errorCode, durationMs, traceId, call } = answered
    return Effect.annotateLogs(
      line[level],
      withoutNulls({
        requestId: requestIdOf(request),
        traceId,
        method,
        route,
        status,
        errorCode,
        accountId: call?.credential.accountId,
        keyHint: call?.credential.hint,
        sessionId: call?.credential.sessionId,
        sandboxId: call?.sandboxId,
        targetType: call?.targetId == null ? null : call.targetType,
        targetId: call?.targetId,
        sourceIp: clientAddress(request),
        durationMs: Math.round(durationMs * 100) / 100
      })
    )
  }
