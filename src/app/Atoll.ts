/**
 * The service without its edges: actors and the resources built on them. `main.ts` adds a runtime, a database and HTTP;
 * tests and benches add others.
 */
import { Effect, Layer } from "effect"
import { LiveConnections } from "../access/gateway/LiveConnections.ts"
import { PublicPort } from "../access/gateway/PublicPort.ts"
import { SandboxReach } from "../access/gateway/SandboxReach.ts"
import { PreviewGateway } from "../access/preview/PreviewGateway.ts"
import { PreviewsLive } from "../access/preview/PreviewsLive.ts"
import { ServiceAccessesLive } from "../access/serviceAccess/ServiceAccessesLive.ts"
import { ConnectionGrantsLive } from "../access/ssh/ConnectionGrantsLive.ts"
import { SshEndpoint } from "../access/ssh/SshEndpoint.ts"
import { SshGateway } from "../access/ssh/SshGateway.ts"
import { Audit } from "../account/Audit.ts"
import { Settings } from "../Config.ts"
import { ActorHost, type ActorHostOptions } from "../engine/ActorHost.ts"
import { Files } from "../files/Files.ts"
import { BuildWatch } from "../image/build/BuildWatch.ts"
import { ImagesLive } from "../image/ImagesLive.ts"
import { ImageWatch } from "../image/ImageWatch.ts"
import { OperatorImages } from "../image/OperatorImages.ts"
import { Analytics } from "../observe/analytics/Analytics.ts"
import { FleetGauges } from "../observe/analytics/FleetGauges.ts"
import { StateGauges } from "../observe/analytics/StateGauges.ts"
import { TelemetrySampler } from "../observe/analytics/TelemetrySampler.ts"
import { Events } from "../observe/events/Events.ts"
import { ConsoleLog } from "../observe/logs/ConsoleLog.ts"
import { Logs } from "../observe/logs/Logs.ts"
import { Pruner } from "../observe/retention/Pruner.ts"
import { OperationsLive } from "../operation/OperationsLive.ts"
import { SandboxProcesses } from "../operation/process/SandboxProcesses.ts"
import { Terminals } from "../operation/terminal/Terminals.ts"
import { Shutdown } from "../platform/shutdown/Shutdown.ts"
import { HostGauges } from "../runtime/HostGauges.ts"
import { BuildLeases } from "../sandbox/BuildLeases.ts"
import { Heartbeat } from "../sandbox/Heartbeat.ts"
import { IdleSleep } from "../sandbox/IdleSleep.ts"
import { OneHost } from "../sandbox/OneHost.ts"
import { OperatorLogins } from "../sandbox/OperatorLogins.ts"
import type { Placement } from "../sandbox/Placement.ts"
import { RuntimeWatch } from "../sandbox/RuntimeWatch.ts"
import { SandboxEnvs } from "../sandbox/SandboxEnvs.ts"
import { SandboxesLive } from "../sandbox/SandboxesLive.ts"
import { SandboxUse } from "../sandbox/SandboxUse.ts"
import { SnapshotsLive } from "../snapshot/SnapshotsLive.ts"
import { SnapshotWatch } from "../snapshot/SnapshotWatch.ts"
import { Actors } from "../store/Actors.ts"
import { ClusterSemaphore } from "../store/ClusterSemaphore.ts"
import { ExecutionLog } from "../store/ExecutionLog.ts"
import { Journal } from "../store/Journal.ts"
import { Output } from "../store/Output.ts"
import { Costs } from "../wallet/Costs.ts"
import { Ledger } from "../wallet/Ledger.ts"
import { MoneyGauges } from "../wallet/MoneyGauges.ts"
import { Transactions } from "../wallet/Transactions.ts"
import { UsageReports } from "../wallet/UsageReports.ts"
import { WalletActors } from "../wallet/WalletActors.ts"
import { WalletOutboxReader } from "../wallet/WalletOutboxReader.ts"

/** Wakes all waiting actors once every kind is registered. */
const recovery = Layer.effectDiscard(Effect.flatMap(ActorHost, (host) => host.recover))

/** The parts that differ between a service that carries its Sandboxes itself and one with hosts. */
interface Carried<WE, WR, K, KE, KR, PE, PR> {
  /** Reconciles Sandboxes and machines. */
  readonly watch: Layer.Layer<never, WE, WR>
  /** Kinds of actors besides those of the resources. */
  readonly kinds: Layer.Layer<K, KE, KR>
  readonly placement: Layer.Layer<Placement, PE, PR>
}

const actorHost = (options: Partial<ActorHostOptions>) =>
  Layer.unwrap(
    Effect.map(Settings, ({ clusterLeaseMs }) => ActorHost.layer({ passOnWithinMs: clusterLeaseMs, ...options }))
  )

const assembled = <WE, WR, K, KE, KR, PE, PR>(
  options: Partial<ActorHostOptions>,
  { watch, kinds, placement }: Carried<WE, WR, K, KE, KR, PE, PR>
) =>
  Layer.mergeAll(
    watch,
    IdleSleep.layer,
    ConsoleLog.layer,
    TelemetrySampler.layer,
    Pruner.layer,
    WalletOutboxReader.layer,
    OperatorImages.layer,
    BuildWatch.layer,
    recovery
  ).pipe(
    Layer.provideMerge(kinds),
    Layer.provideMerge(Layer.merge(PreviewGateway.layer, SshGateway.layer)),
    Layer.provideMerge(
      Layer.mergeAll(
        SandboxProcesses.layer,
        Terminals.layer,
        Logs.layer,
        Analytics.layer,
        UsageReports.layer,
        Costs.layer,
        Transactions.layer,
        Events.layer(),
        SnapshotsLive,
        ImagesLive,
        PreviewsLive,
        ServiceAccessesLive,
        ConnectionGrantsLive
      )
    ),
    Layer.provideMerge(Layer.merge(OperationsLive, Files.layer)),
    Layer.provideMerge(Layer.mergeAll(SandboxReach.layer, PublicPort.layer, SshEndpoint.layer)),
    Layer.provideMerge(SandboxesLive),
    Layer.provideMerge(placement),
    Layer.provideMerge(
      LiveConnections.layer.pipe(Layer.provideMerge(Layer.merge(ClusterSemaphore.layer, Shutdown.layer)))
    ),
    Layer.provideMerge(WalletActors.layer),
    Layer.provideMerge(actorHost(options)),
    Layer.provideMerge(Layer.mergeAll(SandboxEnvs.layer, OperatorLogins.layer, BuildLeases.layer)),
    Layer.provideMerge(
      Layer.mergeAll(
        Journal.layer,
        Actors.layer,
        Output.layer,
        ExecutionLog.layer,
        SandboxUse.layer,
        Audit.layer,
        Ledger.layer,
        MoneyGauges.layer,
        StateGauges.layer,
        FleetGauges.layer,
        HostGauges.layer
      )
    )
  )

const watchHere = Layer.mergeAll(
  RuntimeWatch.layer.pipe(Layer.provide(Heartbeat.layer)),
  SnapshotWatch.layer,
  ImageWatch.layer
)

export const Atoll = {
  /** Needs a Runtime, the Database, Settings and an ActorCluster. */
  layer: (options: Partial<ActorHostOptions> = {}) =>
    assembled(options, { watch: watchHere, kinds: Layer.empty, placement: OneHost.layer }),

  /** The same, for a fleet. Also needs HostLinks and HostFeeds. */
  ofFleet: assembled
}
