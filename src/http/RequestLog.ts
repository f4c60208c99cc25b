/**
 * The line of a request in the service's log. By its level:
 *
 * - `warn`: it was answered 5xx. Not 503: what is behind an outage is told once, and not for each request that meets it.
 * - `info`: its caller, whom the service knows, asked for a change, whether it was made or refused.
 * - `debug`: all else, which is reads and what nobody known asked for.
 *
 * A line has no path as it was sent, no query, header or body: no capability, no preview's id, no key but its hint.
 */
import type { IncomingMessage } from "node:http"
import { Effect } from "effect"
import type { SettingsShape } from "../Config.ts"
import { clientAddress } from "../gateway/Clients.ts"
import type { KnownCall } from "./AuditedRequest.ts"
import { requestIdOf } from "./RequestId.ts"

interface Answered {
  readonly request: IncomingMessage
  readonly method: string
  /** A template, as `/api/v2/sandboxes/:id`. */
  readonly route: string
  readonly status: number
  /** Of the Error body that answered it. */
  readonly errorCode: string | null
  readonly durationMs: number
  readonly traceId: string | null
  readonly call: KnownCall | null
}

/** Null: this request has no line. */
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

/** @param least That is logged at all. */
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
