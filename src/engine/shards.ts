/** Actors are distributed over this number of shards, the unit of ownership. All processes of a cluster agree on it. */
import { EntityId, ShardId, type Sharding } from "effect/cluster"

const group = "default"

export const shardsPerGroup = 64

export const allShards: ReadonlyArray<ShardId.ShardId> = Array.from({ length: shardsPerGroup }, (_, at) =>
  ShardId.make(group, at + 1)
)

export const shardOf = (sharding: Sharding.Sharding["Service"], actorId: string): ShardId.ShardId =>
  sharding.getShardId(EntityId.make(actorId), group)
