/** A snapshot as answers show it. */
import { Schema } from "effect"
import { ImageId, SandboxId, SnapshotId, WorkspaceId } from "./Identifiers.ts"
import { oneOf } from "./OneOf.ts"
import { Metadata, Reason } from "./Sandbox.ts"
import { SandboxProfile } from "./SandboxProfile.ts"
import { Timestamp } from "./Text.ts"

export const snapshotStatuses = ["creating", "ready", "failed", "deleting", "deleted"] as const

export const SnapshotStatus = oneOf(
  "SnapshotStatus",
  snapshotStatuses,
  "What it is now. Sandboxes can be made of it while it is ready. failed: there is no image, and statusReason says why."
)
export type SnapshotStatus = typeof SnapshotStatus.Type

const untilReady = (description: string) =>
  Schema.NullOr(Schema.Int).annotate({ description: `${description} null until it is ready.` })

export const Snapshot = Schema.Struct({
  id: SnapshotId,
  sandboxId: Schema.NullOr(SandboxId).annotate({
    description: "The Sandbox whose volume it has; null: it was imported."
  }),
  imported: Schema.Boolean.annotate({ description: "Whether it came from a file (importSnapshot)." }),
  workspaceId: WorkspaceId,
  sandboxRevision: Schema.Int.annotate({
    description: "The revision of the Sandbox's transition log at which it was asked for; 0: it was imported."
  }),
  generation: Schema.Int.annotate({ description: "The Sandbox's generation then; 0: it was imported." }),
  name: Schema.NullOr(Schema.String).annotate({ description: "As it was given; null: none was." }),
  status: SnapshotStatus,
  statusReason: Schema.NullOr(Reason).annotate({
    description: "Why it has that status; null where nothing is to be said."
  }),
  checkpoint: Schema.Boolean.annotate({
    description:
      "Whether the Sandbox took it by itself (`checkpoints`). Such a one is deleted in favour of newer ones, and with its Sandbox, unless a client has changed its name or expiry."
  }),
  runtime: Schema.Literals(["vm", "namespace"]).annotate({
    description: "The Sandbox's runtime; Sandboxes that are made of it have the same."
  }),
  profile: SandboxProfile,
  networkEnabled: Schema.Boolean.annotate({ description: "Whether the Sandbox had a network." }),
  metadata: Metadata,
  envNames: Schema.Array(Schema.String).annotate({
    description: "The names of the variables that come along, sorted. Their values are never told."
  }),
  memory: Schema.Boolean.annotate({ description: "Whether the memory and the running processes are in it." }),
  imageId: Schema.NullOr(ImageId).annotate({
    description: "The Sandbox's image; Sandboxes that are made of the snapshot have it, too. null: the host's own root."
  }),
  sizeBytes: untilReady("The size of the volume, full or empty, and of the memory where it is in it."),
  storedBytes: untilReady(
    "Bytes that the image occupies on the host, with its memory; they count toward the workspace's storage limit."
  ),
  pausedMs: untilReady(
    "How long writers of the Sandbox waited, or with memory the whole Sandbox, in ms; 0: its volume was not in use."
  ),
  createdAt: Timestamp.annotate({ description: "When it was accepted." }),
  readyAt: Schema.NullOr(Timestamp).annotate({ description: "When its image was whole; null: it never was." }),
  expiresAt: Schema.NullOr(Timestamp).annotate({ description: "When it is deleted by itself; null: never." }),
  deletedAt: Schema.NullOr(Timestamp).annotate({ description: "When it was deleted; null: it is not." })
}).annotate({
  identifier: "Snapshot",
  description: "The volume of a Sandbox as it was at one instant. It outlives the Sandbox."
})
export interface Snapshot extends Schema.Schema.Type<typeof Snapshot> {}

export const SnapshotResponse = Schema.Struct({ snapshot: Snapshot }).annotate({
  identifier: "SnapshotResponse",
  description: "One snapshot."
})
export interface SnapshotResponse extends Schema.Schema.Type<typeof SnapshotResponse> {}
