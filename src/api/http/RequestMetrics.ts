/** Durations of requests by method, route template and status: no path, no id, no account. */
import { type Context, Metric } from "effect"

const boundaries = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

const durationOf = (method: string, route: string, status: string) =>
  Metric.histogram("atoll_http_request_duration_seconds", {
    description: "Time from the head of a request to the head of its response.",
    boundaries,
    attributes: { method, route, status }
  })

/** By route, then by method and status: the route's text is the same string for each request, and a joined one would be hashed each time. */
const durations = new Map<string, Map<string, Map<number, ReturnType<typeof durationOf>>>>()

const inner = <K, L, V>(map: Map<K, Map<L, V>>, key: K): Map<L, V> => {
  const known = map.get(key)
  if (known !== undefined) return known
  const fresh = new Map<L, V>()
  map.set(key, fresh)
  return fresh
}

export const observeRequest = (
  context: Context.Context<never>,
  request: { readonly method: string; readonly route: string; readonly status: number; readonly durationMs: number }
): void => {
  const { method, route, status } = request
  const byStatus = inner(inner(durations, route), method)
  let duration = byStatus.get(status)
  if (duration === undefined) {
    duration = durationOf(method, route, String(status))
    byStatus.set(status, duration)
  }
  duration.updateUnsafe(request.durationMs / 1000, context)
}
