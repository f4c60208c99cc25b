/** The context of a Sandbox's machine: its type, and its stored form. */
import { Schema } from "effect"
import { Reason } from "../Sandbox.ts"

/** The variables of every command. Their values are stored elsewhere, sealed; this names them. */
export const KeptEnv = Schema.Struct({ version: Schema.String, names: Schema.Array(Schema.String) })
export interface KeptEnv extends Schema.Schema.Type<typeof KeptEnv> {}

/** What ends a Sandbox by itself; whole seconds, null: that does not. */
export const Lifetime = Schema.Struct({
  /** Of running, from the boot on; sleep does not end it. */
  stopAfterSeconds: Schema.NullOr(Schema.Number),
  /** Without any use. */
  stopAfterIdleSeconds: Schema.NullOr(Schema.Number),
  /** Of being stopped, for any reason. */
  deleteAfterStoppedSeconds: Schema.NullOr(Schema.Number)
})
export interface Lifetime extends Schema.Schema.Type<typeof Lifetime> {}

/** The root file system that it has in place of its host's own. */
export const SandboxImage = Schema.Struct({
  imageId: Schema.String,
  reference: Schema.String,
  /** Of the manifest, for good. */
  digest: Schema.String
})
export interface SandboxImage extends Schema.Schema.Type<typeof SandboxImage> {}
/** Snapshots that it takes by itself. */
export const Checkpoints = Schema.Struct({
  /** While it runs; whole seconds, null: none by time. */
  everySeconds: Schema.NullOr(Schema.Number),
  /** One whenever it has stopped. */
  onStop: Schema.Boolean,
  /** How many that are ready stay. */
  keep: Schema.Number
})
export interface Checkpoints extends Schema.Schema.Type<typeof Checkpoints> {}

/** What it is allotted; vCPUs with tenths. */
const Profile = Schema.Struct({ vcpus: Schema.Number, memoryBytes: Schema.Number, diskBytes: Schema.Number })

const changeable = {
  name: Schema.NullOr(Schema.String),
  metadata: Schema.Record(Schema.String, Schema.String),
  env: Schema.NullOr(KeptEnv),
  lifetime: Schema.NullOr(Lifetime),
  profile: Profile,
  /** Null: it takes none by itself. */
  checkpoints: Schema.NullOr(Checkpoints)
}

/** What a client may change later. */
export const Changeable = Schema.Struct(changeable)
export interface Changeable extends Schema.Schema.Type<typeof Changeable> {}

/** The last rollback of a Sandbox. */
export const KeptRollback = Schema.Struct({
  /** Names the request. */
  rollbackId: Schema.String,
  /** Whose volume it gets. */
  snapshotId: Schema.String,
  /** What its volume before becomes; null: that is given up. */
  keptId: Schema.NullOr(Schema.String),
  askedAt: Schema.Number,
  /** open: it is under way. failed: the volume stays as it was. */
  outcome: Schema.Literals(["open", "done", "failed"]),
  /** Of one that failed. */
  reason: Schema.NullOr(Reason)
})

export const SandboxContext = Schema.Struct({
  sandboxId: Schema.String,
  accountId: Schema.String,
  workspaceId: Schema.String,
  volumeId: Schema.String,
  /** Where its volume lives, for good. Null: on the only host; or no host had room. */
  hostId: Schema.NullOr(Schema.String),
  ...changeable,
  runtime: Schema.Literals(["vm", "namespace"]),
  networkEnabled: Schema.Boolean,
  /** How long one boot may take before it counts as failed; the wait for its turn at the host is not counted. */
  bootTimeoutMs: Schema.Number,
  /** Of which snapshot its volume was made; null: it started empty. */
  snapshotId: Schema.NullOr(Schema.String),
  /** Null: its host's own root. */
  image: Schema.NullOr(SandboxImage),
  /** The image that is built in it, for which it was made; null: a client made it. */
  buildsImageId: Schema.NullOr(Schema.String),
  /** 1 for the first boot, +1 for each later one, and for each rollback of a stopped one. */
  generation: Schema.Number,
  /** A start that arrived while stopping; it boots as soon as the runtime has stopped. */
  startRequested: Schema.Boolean,
  statusReason: Schema.NullOr(Reason),
  createdAt: Schema.Number,
  updatedAt: Schema.Number,
  startedAt: Schema.NullOr(Schema.Number),
  stoppedAt: Schema.NullOr(Schema.Number),
  deletedAt: Schema.NullOr(Schema.Number),
  /** When this generation first ran, while its runtime exists; waking does not move it. */
  upAt: Schema.NullOr(Schema.Number),
  /** While its runtime exists: when its idleness is checked against its lifetime. */
  idleStopAt: Schema.NullOr(Schema.Number),
  /** When the next checkpoint is due, unless the Sandbox boots or stops then: afterwards. Null: none is, before it runs again. */
  checkpointAt: Schema.NullOr(Schema.Number),
  /** It has run since the last checkpoint, so the volume may be another. */
  ranSinceCheckpoint: Schema.Boolean,
  /** When one was last due, and what came of it; neither a snapshot nor an error: it is being asked for. */
  lastCheckpoint: Schema.NullOr(
    Schema.Struct({ at: Schema.Number, snapshotId: Schema.NullOr(Schema.String), error: Schema.NullOr(Reason) })
  ),
  /** 1 as it was created, +1 for each change by a client. */
  edition: Schema.Number,
  /** The changeable values that it was created with, once one was changed. */
  madeWith: Schema.NullOr(Changeable),
  /** The last one; null: it was never rolled back. */
  rollback: Schema.NullOr(KeptRollback)
})
export interface SandboxContext extends Schema.Schema.Type<typeof SandboxContext> {}
