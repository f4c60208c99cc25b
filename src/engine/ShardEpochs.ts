/**
 * The epoch of an owned shard. A process may lose a shard and acquire it again between two checks (a process frozen past its lease
 * thaws while its successor leaves). State cached in an older epoch may then be older than the successor's commits.
 */
import { Context, Effect, Layer } from "effect"
import type { ShardId } from "effect/cluster"
import { SoleOwnership } from "../store/SoleOwner.ts"

export class ShardEpochs extends Context.Service<
  ShardEpochs,
  {
    /** Epoch of an owned shard: a new number whenever another process could have owned it in between. */
    readonly of: (shard: ShardId.ShardId) => number
  }
>()("atoll/engine/ShardEpochs") {
  /** For a process that owns all shards. Its claim on the database may break, and another process may come between. */
  static readonly ofSoleOwner = Layer.effect(
    ShardEpochs,
    Effect.map(SoleOwnership, (owner) => ({ of: () => owner.epoch }))
  )
}
