/**
 * The connection of an exporter to the collector of traces: bounded, even if the collector does not answer.
 *
 * - A batch that fails twice is dropped; so is one that comes while `postsMax` others are being sent.
 * - After a failure one batch per `tryEveryMs` tests whether the collector works again, and the others are dropped immediately.
 * - The failure is logged once, and the recovery once. The exporter always gets a success, because it has no better reaction.
 */
import { Cause, Clock, Context, Effect, Metric } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"

const postsMax = 4
const answerWithinMs = 10_000
const againAfterMs = 1000
const tryEveryMs = 5000

const droppedBatches = Metric.counter("atoll_trace_batches_dropped_total", {
  description: "Batches of spans that did not reach the collector of OTEL_EXPORTER_OTLP_ENDPOINT.",
  incremental: true
})

const taken = (request: HttpClientRequest.HttpClientRequest) =>
  HttpClientResponse.fromWeb(request, new Response(null, { status: 204 }))

/** The innermost fault's code, such as ECONNREFUSED. Its text is not used: a URL may contain a password. */
const codeOf = (fault: unknown): string | null => {
  let inner = fault
  while (inner instanceof Error && inner.cause !== undefined) inner = inner.cause
  return inner instanceof Error && "code" in inner && typeof inner.code === "string" ? inner.code : null
}

const reasonOf = (cause: Cause.Cause<unknown>): string => {
  const fault = Cause.squash(cause)
  if (Cause.isTimeoutError(fault)) return `it does not answer within ${answerWithinMs / 1000} s`
  if (HttpClientError.isHttpClientError(fault) && fault.response !== undefined) {
    return `it answers ${fault.response.status}`
  }
  return codeOf(fault) ?? "it cannot be reached"
}

interface Absence {
  /** Monotonic. */
  readonly sinceMs: number
  tryAtMs: number
}

/** @param name The collector's name for the log. */
export const boundedCollector = (name: string) => (client: HttpClient.HttpClient) => {
  let posting = 0
  let away: Absence | null = null
  droppedBatches.updateUnsafe(0, Context.empty())

  const failed = (cause: Cause.Cause<unknown>, nowMs: number): Effect.Effect<void> => {
    droppedBatches.updateUnsafe(1, Context.empty())
    if (away !== null) {
      away.tryAtMs = nowMs + tryEveryMs
      return Effect.void
    }
    away = { sinceMs: nowMs, tryAtMs: nowMs + tryEveryMs }
    return Effect.logWarning(
      `The collector of traces at ${name} (OTEL_EXPORTER_OTLP_ENDPOINT) does not take them: ${reasonOf(cause)}. They are dropped until it does.`
    )
  }

  const served = (nowMs: number): Effect.Effect<void> => {
    if (away === null) return Effect.void
    const seconds = Math.round((nowMs - away.sinceMs) / 1000)
    away = null
    return Effect.log(`The collector of traces at ${name} takes them again, after ${seconds} s.`)
  }

  return HttpClient.transform(client, (post, request) =>
    Effect.flatMap(Clock.Clock, (clock) => {
      const nowMs = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
      if (posting >= postsMax || (away !== null && nowMs() < away.tryAtMs)) {
        droppedBatches.updateUnsafe(1, Context.empty())
        return Effect.succeed(taken(request))
      }
      posting++
      // One batch tests the collector; batches that come meanwhile are dropped.
      if (away !== null) away.tryAtMs = Number.POSITIVE_INFINITY
      const once = post.pipe(Effect.flatMap(HttpClientResponse.filterStatusOk), Effect.timeout(answerWithinMs))
      const again = Effect.catchCause(once, () => Effect.delay(once, againAfterMs))
      return Effect.matchCauseEffect(away === null ? again : once, {
        onSuccess: () => served(nowMs()),
        onFailure: (cause) => failed(cause, nowMs())
      }).pipe(
        Effect.as(taken(request)),
        Effect.ensuring(
          Effect.sync(() => {
            posting--
            if (away?.tryAtMs === Number.POSITIVE_INFINITY) away.tryAtMs = nowMs() + tryEveryMs
          })
        )
      )
    })
  )
}
