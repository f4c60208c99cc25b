/** Durations of requests by method, route template and status: no path, no id, no account. */
import { type Context, Metric } from "effect"

const boundaries = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

const durationOf = (method: string, route: string, status: string) =>
  Metric.histogram("atoll_http_request_duration_seconds", {
    description: "Time from the head of a request to the head of its response.",
    boundaries,
    attributes: { method, route, status }
  })

const durations = new Map<string, ReturnType<typeof durationOf>>()

export const observeRequest = (
  context: Context.Context<never>,
  request: { readonly method: string; readonly route: string; readonly status: number; readonly durationMs: number }
): void => {
  const key = `${request.method} ${request.route} ${request.status}`
  let duration = durations.get(key)
  if (duration === undefined) {
    duration = durationOf(request.method, request.route, String(request.status))
    durations.set(key, duration)
  }
  duration.updateUnsafe(request.durationMs / 1000, context)
}
