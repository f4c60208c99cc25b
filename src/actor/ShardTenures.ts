/**
 * How often this process has come to own a shard. Ownership may be lost and had again between two looks (a process that was frozen past its lease
 * thaws while its successor leaves), and what it remembers of an actor is then older than what that one committed.
 */
import { Context, Layer } from "effect"
import type { ShardId } from "effect/cluster"

export class ShardTenures extends Context.Service<
  ShardTenures,
  {
    /** Of a shard that is owned: another number than before, whenever somebody else could own it in between. */
    readonly of: (shard: ShardId.ShardId) => number
  }
>()("atoll/actor/ShardTenures") {
  /** Of a process that owns all of them for as long as it lives. */
  static readonly endless = Layer.succeed(ShardTenures, { of: () => 1 })
}
