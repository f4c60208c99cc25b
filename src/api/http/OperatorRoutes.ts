/**
 * Endpoints for the operator and monitoring, not for customers: no key, no secret, cheap.
 *
 * - `GET /healthz`: `{"status", "database", "workers"}`, from memory, without a query. `unavailable` (503) while the database does
 *   not serve, or a vital worker is down or waits longer than its limit; `degraded` (200) while another worker is not up; otherwise `ok` (200). For
 *   each worker `{"name", "isVital", "state": "starting" | "up" | "waiting" | "down", "waiting": {"for", "since", "isOverdue"} | null, "restarts", "lastFault"}`;
 *   `lastFault` is a kind of fault without a message.
 * - `GET /readyz`: `{"status": "ready" | "unready", "reason"}`, as cheap: whether a load balancer should prefer this process. `unready` (503, or the
 *   404 of `?unready=404`, which HAProxy takes for "no new requests, but keep open ones") while `/healthz` is `unavailable`, a worker waits longer than its limit,
 *   or no host of the fleet is reachable; `reason` is a sentence. If no process is ready, any of them is better than none.
 * - `GET /metrics`: Prometheus text format. It names routes, never accounts or ids. Values from the database or the host are read with a
 *   time limit, and cached for a while.
 */
import type { IncomingMessage } from "node:http"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { HostReach } from "../../fleet/HostReach.ts"
import { FleetGauges } from "../../observe/analytics/FleetGauges.ts"
import { StateGauges } from "../../observe/analytics/StateGauges.ts"
import { healthOf, obstacleOf, Workers } from "../../platform/worker/Worker.ts"
import { HostGauges } from "../../runtime/HostGauges.ts"
import { DatabaseWatch } from "../../store/DatabaseWatch.ts"
import { MoneyGauges } from "../../wallet/MoneyGauges.ts"
import { ProcessGauges } from "./ProcessGauges.ts"
import { queryOf } from "./RequestTarget.ts"

export const operatorPaths = ["/healthz", "/readyz", "/metrics"] as const

const health = Effect.gen(function* () {
  const watch = yield* DatabaseWatch
  const workers = yield* Workers
  return Effect.sync(() => {
    const all = workers.byName
    const database = watch.serves() ? "ok" : "unavailable"
    const status = healthOf(all, database === "ok")
    return HttpServerResponse.jsonUnsafe(
      { status, database, workers: all },
      { status: status === "unavailable" ? 503 : 200, headers: { "cache-control": "no-store" } }
    )
  })
})

const readiness = Effect.gen(function* () {
  const watch = yield* DatabaseWatch
  const workers = yield* Workers
  const { reaches } = yield* HostReach
  const obstacle = (): string | null => {
    if (!watch.serves()) return "The database does not serve."
    const stuck = obstacleOf(workers.byName)
    if (stuck !== null) return stuck
    return reaches() ? null : "None of the fleet's hosts is reached."
  }
  return Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const reason = obstacle()
    const unready = queryOf(request.source as IncomingMessage).get("unready") === "404" ? 404 : 503
    return HttpServerResponse.jsonUnsafe(
      { status: reason === null ? "ready" : "unready", reason },
      { status: reason === null ? 200 : unready, headers: { "cache-control": "no-store" } }
    )
  })
})

/** Descriptions for metrics of Effect's cluster, which has none. */
const clusterHelp: Readonly<Record<string, string>> = {
  effect_cluster_entities: "Actors that other processes of the cluster reach through this one.",
  effect_cluster_entity_mailbox_size: "Messages that wait for them.",
  effect_cluster_entity_mailbox_size_max: "The longest mailbox among them.",
  effect_cluster_singletons: "Singletons of the cluster that run here.",
  effect_cluster_runners: "Processes of the cluster.",
  effect_cluster_runners_healthy: "Processes of the cluster that answer.",
  effect_cluster_shards: "Shards of actors that this process owns.",
  effect_cluster_shards_releasing: "Shards that this process is giving away."
}

const withHelp = (body: string): string =>
  body.replace(/^# TYPE (effect_cluster_\w+) /gm, (type, name: string) =>
    clusterHelp[name] === undefined ? type : `# HELP ${name} ${clusterHelp[name]}\n${type}`
  )

const metrics = Effect.gen(function* () {
  const gauges = [yield* MoneyGauges, yield* StateGauges, yield* FleetGauges, yield* HostGauges]
  const refresh = Effect.forEach(gauges, (gauge) => gauge.refresh, { concurrency: "unbounded", discard: true })
  return Effect.gen(function* () {
    yield* refresh
    const body = yield* PrometheusMetrics.format()
    return HttpServerResponse.text(withHelp(body), { contentType: "text/plain; version=0.0.4; charset=utf-8" })
  })
})

export const OperatorRoutes = {
  layer: Layer.mergeAll(
    ProcessGauges.layer,
    HttpRouter.use((router) => Effect.flatMap(health, (handler) => router.add("GET", "/healthz", handler))),
    HttpRouter.use((router) => Effect.flatMap(readiness, (handler) => router.add("GET", "/readyz", handler))),
    HttpRouter.use((router) => Effect.flatMap(metrics, (handler) => router.add("GET", "/metrics", handler)))
  )
}
