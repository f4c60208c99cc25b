/** The context of a snapshot's machine: its type, and its stored form. */
import { Schema } from "effect"
import { Reason } from "../Sandbox.ts"
import { KeptEnv, Lifetime, SandboxImage } from "./Sandbox.ts"

const changeable = {
  name: Schema.NullOr(Schema.String),
  /** When it is deleted, epoch milliseconds; null: no such end is set. */
  expiresAt: Schema.NullOr(Schema.Number)
}

/** What a client may change later. */
export const ChangeableSnapshot = Schema.Struct(changeable)
export interface ChangeableSnapshot extends Schema.Schema.Type<typeof ChangeableSnapshot> {}

export const SnapshotContext = Schema.Struct({
  snapshotId: Schema.String,
  accountId: Schema.String,
  workspaceId: Schema.String,
  /** The Sandbox whose volume it has; that may be deleted meanwhile. Null: it was imported. */
  sandboxId: Schema.NullOr(Schema.String),
  /** The Sandbox's revision and generation when the snapshot was asked for; 0: it was imported. */
  sandboxRevision: Schema.Number,
  generation: Schema.Number,
  /** Where the Sandbox's volume lives, and the image with it; or the host that received the image. Null: the only host. */
  hostId: Schema.NullOr(Schema.String),
  ...changeable,
  runtime: Schema.Literals(["vm", "namespace"]),
  /** The Sandbox's, as all up to `lifetime`: forks have them, too. */
  profile: Schema.Struct({ vcpus: Schema.Number, memoryBytes: Schema.Number, diskBytes: Schema.Number }),
  networkEnabled: Schema.Boolean,
  sandboxName: Schema.NullOr(Schema.String),
  metadata: Schema.Record(Schema.String, Schema.String),
  /** A copy of the Sandbox's variables, sealed for this snapshot. */
  env: Schema.NullOr(KeptEnv),
  lifetime: Schema.NullOr(Lifetime),
  /** The Sandbox's. */
  image: Schema.NullOr(SandboxImage),
  /** The Sandbox took it by itself. */
  checkpoint: Schema.Boolean,
  /** The memory and the processes are in it. */
  memory: Schema.Boolean,
  /** It is the volume that this rollback of its Sandbox replaced. Null: a client took it. */
  rollbackId: Schema.NullOr(Schema.String),
  /** The size of the volume, full or empty; null until it is ready. */
  sizeBytes: Schema.NullOr(Schema.Number),
  /** What the image occupies on the host's disk; null until it is ready. */
  storedBytes: Schema.NullOr(Schema.Number),
  /** How long writers of the Sandbox waited; null until it is ready. */
  pausedMs: Schema.NullOr(Schema.Number),
  statusReason: Schema.NullOr(Reason),
  createdAt: Schema.Number,
  readyAt: Schema.NullOr(Schema.Number),
  deletedAt: Schema.NullOr(Schema.Number),
  /** 1 as it was created, +1 for each change by a client. */
  edition: Schema.Number
})
export interface SnapshotContext extends Schema.Schema.Type<typeof SnapshotContext> {}
