/**
 * Which process owns which actor: Effect Cluster's shards.
 *
 * One process alone needs no storage for that. Several on one database (ATOLL_CLUSTER_PORT set) take their shards from it and
 * reach each other over sockets; actor messages are volatile there too.
 */
import { NodeClusterSocket } from "@effect/platform-node"
import { Effect, Layer, Option } from "effect"
import {
  MessageStorage,
  RunnerAddress,
  RunnerHealth,
  RunnerStorage,
  Runners,
  Sharding,
  ShardingConfig
} from "effect/cluster"
import { Settings } from "../Config.ts"

const single = Sharding.layer.pipe(
  Layer.provide(Runners.layerNoop),
  Layer.provide(MessageStorage.layerNoop),
  Layer.provide([RunnerStorage.layerMemory, RunnerHealth.layerNoop]),
  Layer.provide(
    ShardingConfig.layer({ shardsPerGroup: 64, simulateRemoteSerialization: false, entityMailboxCapacity: "unbounded" })
  )
)

const several = (host: string, port: number) =>
  NodeClusterSocket.layer({
    storage: "sql",
    shardingConfig: {
      runnerAddress: Option.some(RunnerAddress.make(host, port)),
      shardsPerGroup: 64,
      shardLockRefreshInterval: "1 second",
      shardLockExpiration: "5 seconds",
      refreshAssignmentsInterval: "1 second",
      entityMailboxCapacity: "unbounded"
    }
  })

export const ActorCluster = {
  layerSingle: single,
  layer: Layer.unwrap(
    Effect.map(Settings, ({ clusterHost, clusterPort }) =>
      clusterPort === 0 ? single : several(clusterHost, clusterPort)
    )
  )
}
