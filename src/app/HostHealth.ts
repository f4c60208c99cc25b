/**
 * A host's health and metrics for its operator and for monitoring, on ATOLL_PORT: no key, no secret, cheap.
 *
 * - `GET /healthz`: `{"status", "service", "fault", "driver", "workers"}`. `service` is the host's present service, and `fault` why it has none (or left
 *   the last one); `driver` is `ok` or `unavailable`; `workers` as in a service's `/healthz`. `unavailable` (503) while it has no service, its
 *   driver cannot list its machines, or a vital worker is down or waits longer than its limit; `degraded` (200) while another worker is not up;
 *   otherwise `ok` (200).
 * - `GET /metrics`: Prometheus text format, of this process and its machine.
 */

import { createServer, type IncomingMessage } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Clock, Effect, Layer } from "effect"
import { HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { listenerUnusable } from "../api/http/ListenerUnusable.ts"
import { ProcessGauges } from "../api/http/ProcessGauges.ts"
import { pathOf } from "../api/http/RequestTarget.ts"
import { requireOneHost } from "../api/http/requireOneHost.ts"
import { Settings } from "../Config.ts"
import { Joining } from "../host/ingress/Joining.ts"
import { healthOf, Workers } from "../platform/worker/Worker.ts"
import { HostGauges } from "../runtime/HostGauges.ts"
import { Runtime } from "../runtime/Runtime.ts"

const drainWithinMs = 1000
/** Health checks are brief. More connections are not from monitoring, and must not use up the file descriptors that agents need. */
const CONNECTIONS_MAX = 64
const withinMs = 5000
/** Minimum interval between checks of the driver, and their time limit. */
const driverFreshForMs = 5000
const driverPatience = "2 seconds"

const bounded = () => {
  const server = createServer({
    headersTimeout: withinMs,
    requestTimeout: withinMs,
    keepAliveTimeout: withinMs,
    connectionsCheckingInterval: withinMs
  })
  server.maxConnections = CONNECTIONS_MAX
  requireOneHost(server)
  return server
}

const listener = Layer.effect(
  HttpServer.HttpServer,
  Effect.flatMap(Settings, (settings) =>
    NodeHttpServer.make(bounded, {
      host: settings.host,
      port: settings.port,
      gracefulShutdownTimeout: drainWithinMs
    }).pipe(Effect.mapError(listenerUnusable(settings)))
  )
)

const driverWorks = Effect.map(Runtime, ({ inventory }) => {
  let last = { works: true, atMs: Number.NEGATIVE_INFINITY }
  return Effect.gen(function* () {
    const atMs = Number((yield* Clock.monotonicTimeNanos) / 1_000_000n)
    if (atMs - last.atMs < driverFreshForMs) return last.works
    last = { ...last, atMs }
    const works = yield* inventory.pipe(
      Effect.as(true),
      Effect.timeout(driverPatience),
      Effect.catchCause(() => Effect.succeed(false))
    )
    last = { works, atMs }
    return works
  })
})

const health = Effect.gen(function* () {
  const { standing } = yield* Joining
  const workers = yield* Workers
  const works = yield* driverWorks
  return Effect.gen(function* () {
    const { service, fault } = standing()
    const driver = (yield* works) ? "ok" : "unavailable"
    const all = workers.byName
    const status = healthOf(all, service !== null && driver === "ok")
    return HttpServerResponse.jsonUnsafe(
      { status, service, fault, driver, workers: all },
      { status: status === "unavailable" ? 503 : 200, headers: { "cache-control": "no-store" } }
    )
  })
})

const metrics = Effect.gen(function* () {
  const { refresh } = yield* HostGauges
  return Effect.gen(function* () {
    yield* refresh
    const body = yield* PrometheusMetrics.format()
    return HttpServerResponse.text(body, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
  })
})

const serving = Layer.effectDiscard(
  Effect.gen(function* () {
    const pages = new Map([
      ["/healthz", yield* health],
      ["/metrics", yield* metrics]
    ])
    const server = yield* HttpServer.HttpServer
    const answer = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const page = pages.get(pathOf(request.source as IncomingMessage) ?? "")
      if (page === undefined) {
        return HttpServerResponse.text("This is a host of Atoll: /healthz and /metrics.\n", { status: 404 })
      }
      return request.method === "GET" || request.method === "HEAD"
        ? yield* page
        : HttpServerResponse.empty({ status: 405, headers: { allow: "GET, HEAD" } })
    })
    yield* server.serve(answer)
  })
)

export const HostHealth = {
  /** Needs Joining, the Runtime and Settings; gives the HttpServer. */
  layer: Layer.merge(serving, ProcessGauges.layer).pipe(Layer.provide(HostGauges.layer), Layer.provideMerge(listener))
}
