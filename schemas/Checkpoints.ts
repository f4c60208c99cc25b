/** Snapshots that a Sandbox takes by itself. */
import { Schema } from "effect"
import { SnapshotId } from "./Identifiers.ts"
import { checkpointsKeepDefault, checkpointsKeepMax, checkpointsMaxSeconds, checkpointsMinSeconds } from "./Limits.ts"
import { Timestamp } from "./Text.ts"

const everySeconds =
  "A snapshot is taken whenever it has run for so many seconds since the last such one. The deadline is durable: one that was missed while the service was away is taken once. A Sandbox that sleeps or is stopped takes one at that time if it has run since the last checkpoint, and then none until it runs again."
const onStop =
  "Whether a snapshot is taken when it has stopped, if it has run since the last checkpoint. A start that comes meanwhile waits for it. A Sandbox that was started again before it had stopped takes none."
const keep = `How many checkpoints that are ready stay: when a newer one is ready, the oldest beyond this number is deleted. Those that a client has changed (name or expiry) neither count nor go.`

export const SandboxCheckpoints = Schema.Struct({
  everySeconds: Schema.NullOr(Schema.Int).annotate({ description: `${everySeconds} null: none by time.` }),
  onStop: Schema.Boolean.annotate({ description: onStop }),
  keep: Schema.Int.annotate({ description: keep }),
  nextAt: Schema.NullOr(Timestamp).annotate({
    description:
      "When the next one is due; of a Sandbox that boots or stops then, when it has done so. null: none is due before it runs again, or everySeconds is null."
  })
}).annotate({
  identifier: "SandboxCheckpoints",
  description:
    "Which snapshots it takes by itself (`checkpoint: true`). They count toward the limits and cost as any; they are deleted with the Sandbox, except those that a client has changed (name or expiry)."
})

const part = <A>(schema: Schema.Codec<A, A>, description: string) =>
  Schema.optionalKey(Schema.NullOr(schema).annotate({ description }))

export const GivenCheckpoints = Schema.Struct({
  everySeconds: part(
    Schema.Int.check(Schema.isBetween({ minimum: checkpointsMinSeconds, maximum: checkpointsMaxSeconds })),
    everySeconds
  ),
  onStop: part(Schema.Boolean, `${onStop} By default \`false\`.`),
  keep: part(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: checkpointsKeepMax })),
    `${keep} By default \`${checkpointsKeepDefault}\`.`
  )
})

export const LastCheckpoint = Schema.Struct({
  at: Timestamp.annotate({ description: "When it was due." }),
  snapshotId: Schema.NullOr(SnapshotId).annotate({
    description: "The snapshot, whose own status says whether it is ready. null: there is none, or none yet."
  }),
  error: Schema.NullOr(
    Schema.Struct({
      code: Schema.String.annotate({ description: "The code of the error that createSnapshot would have answered." }),
      message: Schema.String.annotate({ description: "For people; it may change." })
    }).annotate({ identifier: "CheckpointError", description: "Why no checkpoint was taken." })
  ).annotate({ description: "Why there is none: a limit, or the credit. The next one is tried at its time." })
}).annotate({ identifier: "LastCheckpoint", description: "The last checkpoint that was due, and what came of it." })
