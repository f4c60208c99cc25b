/**
 * For the operator and his machines, not for customers: no key, no secret, cheap.
 *
 * - `GET /healthz`: `{"status", "database", "workers"}`, from memory, whatever the database does. `unavailable` (503) while the database does
 *   not serve or a vital worker does not run; `degraded` (200) while another worker does not; otherwise `ok` (200). Of each worker
 *   `{"name", "isVital", "state": "up" | "restarting", "restarts", "lastFault"}`, the last a kind of fault and no message.
 * - `GET /metrics`: Prometheus text format. It names routes, never accounts or ids.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { DatabaseWatch } from "../store/DatabaseWatch.ts"
import { MoneyGauges } from "../wallet/MoneyGauges.ts"
import { Workers } from "../worker/Worker.ts"

export const operatorPaths = ["/healthz", "/metrics"] as const

const health = Effect.gen(function* () {
  const watch = yield* DatabaseWatch
  const workers = yield* Workers
  return Effect.sync(() => {
    const all = workers.byName
    const database = watch.serves() ? "ok" : "unavailable"
    const idle = all.filter(({ state }) => state !== "up")
    const status =
      database !== "ok" || idle.some(({ isVital }) => isVital) ? "unavailable" : idle.length > 0 ? "degraded" : "ok"
    return HttpServerResponse.jsonUnsafe(
      { status, database, workers: all },
      { status: status === "unavailable" ? 503 : 200, headers: { "cache-control": "no-store" } }
    )
  })
})

const metrics = Effect.gen(function* () {
  const gauges = yield* MoneyGauges
  return Effect.gen(function* () {
    yield* gauges.refresh
    const body = yield* PrometheusMetrics.format()
    return HttpServerResponse.text(body, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
  })
})

export const OperatorRoutes = {
  layer: Layer.mergeAll(
    HttpRouter.use((router) => Effect.flatMap(health, (handler) => router.add("GET", "/healthz", handler))),
    HttpRouter.use((router) => Effect.flatMap(metrics, (handler) => router.add("GET", "/metrics", handler)))
  )
}
