/** The TCP port that serves everything: API, previews, tunnels, terminals. */

import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { noteClients } from "../../access/gateway/Clients.ts"
import { trusting } from "../../access/gateway/forwardedFor.ts"
import { PublicPort } from "../../access/gateway/PublicPort.ts"
import { placeGateways, type RawGateway } from "../../access/gateway/RawGateway.ts"
import { PreviewGateway } from "../../access/preview/PreviewGateway.ts"
import { Settings } from "../../Config.ts"
import { Shutdown } from "../../platform/shutdown/Shutdown.ts"
import { certificateFiles, followCertificate, readCertificate } from "./Certificate.ts"
import { clearTextWarning } from "./clearText.ts"
import { drainOnClose } from "./Draining.ts"
import { listenerUnusable } from "./ListenerUnusable.ts"
import { protocolServer } from "./ProtocolServer.ts"
import { TerminalGateway } from "./TerminalGateway.ts"
import { TunnelGateway } from "./TunnelGateway.ts"

/** A stop waits this long for running requests; then they are cut. Without another process, all clients wait for the next one. */
const drainAloneMs = 1000

const disputesEveryMs = 60_000

/** At most once in a while: otherwise each visitor through such a proxy could cause a log line. */
const tellDisputes = Effect.map(Effect.context<never>(), (context) => {
  const runFork = Effect.runForkWith(context)
  let toldAt = Number.NEGATIVE_INFINITY
  return (proxy: string): void => {
    if (performance.now() - toldAt < disputesEveryMs) return
    toldAt = performance.now()
    runFork(
      Effect.logWarning(
        `The proxy ${proxy} (ATOLL_TRUSTED_PROXIES) passed on a Forwarded and an X-Forwarded-For header that name different clients, so neither is believed. Have it write one of them and remove the other.`
      )
    )
  }
})

export const Listener = {
  layer: Layer.effectContext(
    Effect.gen(function* () {
      const settings = yield* Settings
      const gateways: ReadonlyArray<RawGateway> = [yield* PreviewGateway, yield* TunnelGateway, yield* TerminalGateway]
      const publicPort = yield* PublicPort
      const drainWithinMs = settings.clusterPort === 0 ? drainAloneMs : settings.drainMs
      const files = yield* certificateFiles(settings)
      const certificate = files === null ? null : yield* readCertificate(files, settings.previewDomain)
      const server = protocolServer(certificate)
      placeGateways(server, gateways)
      // Streams and long waits do not end by themselves: a stop ends them first, and then waits for the other requests.
      const shutdown = yield* Shutdown
      drainOnClose(server, drainWithinMs, shutdown.begin)
      if (settings.trustedProxies.length > 0) {
        noteClients(server, trusting(settings.trustedProxies), yield* tellDisputes)
      }
      // By now each request is answered, or cannot be.
      yield* Effect.addFinalizer(() => Effect.sync(() => server.closeAllConnections()))
      const services = yield* Layer.build(
        NodeHttpServer.layer(() => server, {
          host: settings.host,
          port: settings.port,
          gracefulShutdownTimeout: 2 * drainWithinMs
        })
      ).pipe(Effect.mapError(listenerUnusable(settings)))
      if (files !== null && certificate !== null) {
        yield* followCertificate(server, files, certificate, settings.previewDomain)
      }
      const warning = clearTextWarning(settings)
      if (warning !== null) yield* Effect.logWarning(warning)
      const address = server.address()
      if (typeof address === "object" && address !== null) publicPort.set(address.port)
      return services
    })
  ).pipe(Layer.provide(Layer.merge(TunnelGateway.layer, TerminalGateway.layer)))
}
