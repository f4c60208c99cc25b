/**
 * Which process owns which actor: Effect Cluster's shards.
 *
 * One process alone needs no storage for that. Several on one database (ATOLL_CLUSTER_PORT set) lease their shards from it and
 * reach each other over sealed sockets; actor messages are volatile there too.
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
import { clusterMembers } from "./ClusterMembers.ts"
import { SealedSockets } from "./SealedSockets.ts"
import { ShardLeases } from "./ShardLeases.ts"
import { ShardTenures } from "./ShardTenures.ts"
import { shardsPerGroup } from "./shards.ts"

const single = Sharding.layer.pipe(
  Layer.provide(Runners.layerNoop),
  Layer.provide(MessageStorage.layerNoop),
  Layer.provide([RunnerStorage.layerMemory, RunnerHealth.layerNoop]),
  Layer.provide(
    ShardingConfig.layer({ shardsPerGroup, simulateRemoteSerialization: false, entityMailboxCapacity: "unbounded" })
  ),
  Layer.merge(ShardTenures.endless)
)

/** What the cluster believes to own, a process that was frozen may have lost: its lease says so before anything else can. */
const leased = Layer.effectContext(
  Effect.gen(function* () {
    const sharding = yield* Sharding.Sharding
    const { holds, tenureOf } = yield* ProcessLeases
    return Context.make(Sharding.Sharding, {
      ...sharding,
      hasShardId: (shard) => holds(shard.toString()) && sharding.hasShardId(shard)
    }).pipe(Context.add(ShardTenures, { of: (shard) => tenureOf(shard.toString()) }))
  })
)

const several = ({ clusterHost, clusterPort, clusterLeaseMs }: SettingsShape) =>
  leased.pipe(
    Layer.provide(SocketRunner.layer.pipe(Layer.provide([SealedSockets.layerServer, SealedSockets.layerClients]))),
    Layer.provide([MessageStorage.layerNoop, RunnerHealth.layerNoop, ShardLeases.layer]),
    Layer.provide(clusterMembers.pipe(Layer.provide(SealedSockets.layer))),
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
        // An actor's mailbox is its host's, which has answered everybody before it ends: there is nothing to wait for.
        entityTerminationTimeout: "100 millis",
        simulateRemoteSerialization: false,
        entityMailboxCapacity: "unbounded"
      })
    ])
  )

export const ActorCluster = {
  layerSingle: single,
  layer: Layer.unwrap(Effect.map(Settings, (settings) => (settings.clusterPort === 0 ? single : several(settings))))
}
