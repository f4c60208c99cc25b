/**
 * For the operator and his machines, not for customers: no key, no secret, cheap.
 *
 * - `GET /healthz`: 200 `{"status":"ok","database":"ok"}` when the database answers within a second, otherwise 503.
 * - `GET /metrics`: Prometheus text format. It names routes, never accounts or ids.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { SqlClient } from "effect/sql"

export const operatorPaths = ["/healthz", "/metrics"] as const

const databaseWithin = "1 second"

const health = Effect.map(SqlClient.SqlClient, (sql) =>
  sql`select 1`.pipe(
    Effect.timeout(databaseWithin),
    Effect.match({
      onSuccess: () => HttpServerResponse.jsonUnsafe({ status: "ok", database: "ok" }),
      onFailure: () =>
        HttpServerResponse.jsonUnsafe({ status: "unavailable", database: "unavailable" }, { status: 503 })
    }),
    Effect.map(HttpServerResponse.setHeader("cache-control", "no-store"))
  )
)

export const OperatorRoutes = {
  layer: Layer.mergeAll(
    HttpRouter.use((router) => Effect.flatMap(health, (handler) => router.add("GET", "/healthz", handler))),
    PrometheusMetrics.layerHttp({ path: "/metrics" })
  )
}
