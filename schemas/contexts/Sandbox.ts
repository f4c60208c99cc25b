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

/** What it is allotted; vCPUs with tenths. */
const Profile = Schema.Struct({ vcpus: Schema.Number, memoryBytes: Schema.Number, diskBytes: Schema.Number })

const changeable = {
  name: Schema.NullOr(Schema.String),
  metadata: Schema.Record(Schema.String, Schema.String),
  env: Schema.NullOr(KeptEnv),
  lifetime: Schema.NullOr(Lifetime),
  profile: Profile
}

/** What a client may change later. */
export const Changeable = Schema.Struct(changeable)
export interface Changeable extends Schema.Schema.Type<typeof Changeable> {}

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
  /** 1 for the first boot, +1 for each later one. */
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
  /** 1 as it was created, +1 for each change by a client. */
  edition: Schema.Number,
  /** The changeable values that it was created with, once one was changed. */
  madeWith: Schema.NullOr(Changeable)
})
export interface SandboxContext extends Schema.Schema.Type<typeof SandboxContext> {}
