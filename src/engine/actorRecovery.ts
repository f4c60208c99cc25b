/**
 * Wakes this process's actors that have something to do, at each sweep and when a shard came to this process; hands actors over when their shard
 * left, and at the stop.
 */
import { type Clock, Effect } from "effect"
import type { Sharding } from "effect/cluster"
import { vitalWorker } from "../platform/worker/Worker.ts"
import type { Journal } from "../store/Journal.ts"
import type { ActorDefinition } from "./ActorDefinition.ts"
import type { OtherOwners } from "./OtherOwners.ts"
import type { OwnActors } from "./OwnActors.ts"
import type { ShardEpochs } from "./ShardEpochs.ts"
import { allShards } from "./shards.ts"

export interface RecoveryOptions {
  readonly sweepIntervalMs: number
  /** How far ahead deadlines are kept in memory; later ones stay in the database. */
  readonly deadlineHorizonMs: number
  /** Interval at which actors of new shards are woken, and actors of lost shards are dropped. */
  readonly shardsLookEveryMs: number
  /** How long a stop waits for running commits. */
  readonly stopWithinMs: number
}

interface Recovered {
  readonly journal: Journal["Service"]
  readonly sharding: Sharding.Sharding["Service"]
  readonly epochs: ShardEpochs["Service"]
  readonly clock: Clock.Clock
  readonly actors: OwnActors
  readonly others: OtherOwners
  readonly definitions: ReadonlyMap<string, ActorDefinition>
}

/** Returns the effect that wakes the actors with pending commands or deadlines. */
export const actorRecovery = Effect.fnUntraced(function* (
  options: RecoveryOptions,
  { journal, sharding, epochs, clock, actors, others, definitions }: Recovered
) {
  const recover = Effect.gen(function* () {
    const waiting = yield* journal.waiting(clock.currentTimeMillisUnsafe() + options.deadlineHorizonMs)
    for (const { id, kind, revision, hasPending, dueAt } of waiting) {
      const definition = definitions.get(kind)
      if (definition !== undefined && actors.isOurs(id)) actors.expect(id, definition, revision, hasPending, dueAt)
    }
  })

  const sweep = Effect.sync(() => actors.sweep())

  /** Shards move with the processes of a cluster. */
  const watchShards = Effect.gen(function* () {
    let before = ""
    while (true) {
      const now = allShards.map((shard) => (sharding.hasShardId(shard) ? epochs.of(shard) : "")).join()
      if (now !== before) {
        before = now
        yield* sweep
        others.tellMoved()
        yield* recover
      }
      yield* Effect.sleep(options.shardsLookEveryMs)
    }
  })
  yield* vitalWorker("shards", watchShards)

  yield* vitalWorker(
    "actor sweep",
    Effect.andThen(sweep, recover).pipe(Effect.delay(options.sweepIntervalMs), Effect.forever)
  )

  // Waiting messages go to the next owners, after the last commits that were begun here.
  const lastCommits = Effect.callback<void>((resume) => actors.onceWritten(() => resume(Effect.void)))
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      actors.close()
      others.tellMoved()
      return options.stopWithinMs === 0 ? Effect.void : Effect.timeoutOption(lastCommits, options.stopWithinMs)
    })
  )
  return recover
})
