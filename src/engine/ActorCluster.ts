/**
 * Effect Cluster's shards decide which process owns which actor.
 *
 * A single process needs no storage for that. Several processes on one database (ATOLL_CLUSTER_PORT set) lease their shards from it and
 * connect over authenticated sockets. Actor messages between them are volatile, too.
 */
import { Context, Effect, Layer, Option } from "effect"
import {
  MessageStorage,
  RunnerAddress,
  RunnerHealth,
  RunnerStorage,
  Runners,
  Sharding,
  ShardingConfig,
  SocketRunner
} from "effect/cluster"
import { RpcSerialization } from "effect/rpc"
import { Settings, type SettingsShape } from "../Config.ts"
import { ProcessLeases } from "../store/ProcessLeases.ts"
import type { ActorSockets } from "./ActorSockets.ts"
import { clusterMembers } from "./ClusterMembers.ts"
import { SealedSockets } from "./SealedSockets.ts"
import { ShardEpochs } from "./ShardEpochs.ts"
import { ShardLeases } from "./ShardLeases.ts"
import { shardsPerGroup } from "./shards.ts"

const single = Sharding.layer.pipe(
  Layer.provide(Runners.layerNoop),
  Layer.provide(MessageStorage.layerNoop),
  Layer.provide([RunnerStorage.layerMemory, RunnerHealth.layerNoop]),
  Layer.provide(
    ShardingConfig.layer({ shardsPerGroup, simulateRemoteSerialization: false, entityMailboxCapacity: "unbounded" })
  ),
  Layer.merge(ShardEpochs.ofSoleOwner)
)

/** A frozen process may have lost shards that the cluster still lists as its own. Its lease tells first. */
const leased = Layer.effectContext(
  Effect.gen(function* () {
    const sharding = yield* Sharding.Sharding
    const { holds, epochOf } = yield* ProcessLeases
    return Context.make(Sharding.Sharding, {
      ...sharding,
      hasShardId: (shard) => holds(shard.toString()) && sharding.hasShardId(shard)
    }).pipe(Context.add(ShardEpochs, { of: (shard) => epochOf(shard.toString()) }))
  })
)

const several = <E, R>(
  { clusterHost, clusterPort, clusterLeaseMs }: SettingsShape,
  sockets: Layer.Layer<ActorSockets, E, R>
) =>
  leased.pipe(
    Layer.provide(SocketRunner.layer.pipe(Layer.provide([SealedSockets.layerServer, SealedSockets.layerClients]))),
    Layer.provide([MessageStorage.layerNoop, RunnerHealth.layerNoop, ShardLeases.layer]),
    Layer.provide(clusterMembers),
    Layer.provide(sockets),
    Layer.provide(ProcessLeases.layer),
    Layer.provide([
      RpcSerialization.layerSchemaBinary(),
      ShardingConfig.layer({
        runnerAddress: Option.some(RunnerAddress.make(clusterHost, clusterPort)),
        shardsPerGroup,
        shardLockRefreshInterval: clusterLeaseMs / 4,
        shardLockExpiration: clusterLeaseMs,
        refreshAssignmentsInterval: "250 millis",
        sendRetryInterval: "50 millis",
        // The actor host owns the mailboxes, and has answered all messages before this point: there is nothing to wait for.
        entityTerminationTimeout: "100 millis",
        simulateRemoteSerialization: false,
        entityMailboxCapacity: "unbounded"
      })
    ])
  )

export const ActorCluster = {
  layerSingle: single,
  layer: Layer.unwrap(
    Effect.map(Settings, (settings) => (settings.clusterPort === 0 ? single : several(settings, SealedSockets.layer)))
  ),
  /** Over connections of the caller's, which must authenticate each other as those of `SealedSockets` do. */
  layerOver: <E, R>(sockets: Layer.Layer<ActorSockets, E, R>) =>
    Layer.unwrap(Effect.map(Settings, (settings) => several(settings, sockets)))
}
