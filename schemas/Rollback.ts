/** Rollback: the volume of a snapshot replaces that of a Sandbox. */
import { Schema } from "effect"
import { SnapshotId } from "./Identifiers.ts"
import { keptSnapshotSeconds } from "./Limits.ts"
import { withDefault } from "./Optional.ts"
import { Sandbox } from "./Sandbox.ts"
import { Snapshot } from "./SnapshotRecord.ts"

const keptHours = keptSnapshotSeconds / 3600

export const RollbackRequest = Schema.Struct({
  snapshotId: SnapshotId,
  keep: withDefault(
    Schema.Boolean,
    true,
    `true: the present volume becomes a snapshot first, which is deleted after ${keptHours} hours. false: it is given up; that needs the scope \`sandbox:delete\`, too.`
  )
}).annotate({
  identifier: "RollbackRequest",
  description:
    "Whose volume, and memory where it has that, a Sandbox shall have: an own snapshot that is ready, of the Sandbox's workspace and runtime, and not larger than its volume. It need not be of this Sandbox."
})
export interface RollbackRequest extends Schema.Schema.Type<typeof RollbackRequest> {}

export const RollbackResponse = Schema.Struct({
  sandbox: Sandbox,
  kept: Schema.NullOr(Snapshot).annotate({
    description: "What the volume before becomes: `creating` until the Sandbox has stopped. null with keep false."
  })
}).annotate({
  identifier: "RollbackResponse",
  description: "A Sandbox that is being rolled back, and the snapshot of its volume before."
})
export interface RollbackResponse extends Schema.Schema.Type<typeof RollbackResponse> {}
