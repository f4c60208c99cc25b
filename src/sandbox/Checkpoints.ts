/** The checkpoints of Sandboxes. Snapshots are made in a room that builds on this one, which therefore provides how they are taken. */
import { Context, Deferred, Effect, Layer } from "effect"
import type { PublicReason } from "../../schemas/PublicText.ts"

export interface CheckpointActs {
  /** `key` is the same for each try: the snapshot is made once. Fails with what allows none. */
  readonly take: (sandboxId: string, key: string) => Effect.Effect<{ readonly snapshotId: string }, PublicReason>
  /** Deletes what the Sandbox, which is deleted, has kept for itself. Returns when each deletion is committed; safe to repeat. */
  readonly drop: (sandboxId: string) => Effect.Effect<void>
}

export class Checkpoints extends Context.Service<
  Checkpoints,
  CheckpointActs & { readonly provide: (acts: CheckpointActs) => Effect.Effect<void> }
>()("atoll/sandbox/Checkpoints") {
  static readonly layer = Layer.effect(
    Checkpoints,
    Effect.gen(function* () {
      const provided = yield* Deferred.make<CheckpointActs>()
      return Checkpoints.of({
        provide: (acts) => Effect.asVoid(Deferred.succeed(provided, acts)),
        take: (sandboxId, key) => Effect.flatMap(Deferred.await(provided), ({ take }) => take(sandboxId, key)),
        drop: (sandboxId) => Effect.flatMap(Deferred.await(provided), ({ drop }) => drop(sandboxId))
      })
    })
  )
}

/** The result of the Sandbox's command. */
export const askedCheckpoint = ({ take }: Pick<CheckpointActs, "take">, sandboxId: string, key: string) =>
  take(sandboxId, key).pipe(
    Effect.tapError(({ message }) => Effect.logWarning(`No checkpoint of ${sandboxId}`, message)),
    Effect.match({
      onSuccess: ({ snapshotId }) => ({ type: "CHECKPOINT_TAKEN" as const, snapshotId }),
      onFailure: (reason) => ({ type: "CHECKPOINT_REFUSED" as const, reason })
    })
  )
