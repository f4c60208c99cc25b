/** The context of an image's machine: its type, and its stored form. */
import { Schema } from "effect"
import { Reason } from "../Sandbox.ts"
import { KeptEnv } from "./Sandbox.ts"

export const ImageContext = Schema.Struct({
  imageId: Schema.String,
  accountId: Schema.String,
  name: Schema.NullOr(Schema.String),
  /** As it was asked for; null: it came as an archive. */
  reference: Schema.NullOr(Schema.String),
  /** Name and password for the registry, sealed; null: it is asked without. */
  credentials: Schema.NullOr(KeptEnv),
  /** Of the manifest for the hosts' architecture; null until it is ready. */
  digest: Schema.NullOr(Schema.String),
  /** Unpacked; null until it is ready. */
  sizeBytes: Schema.NullOr(Schema.Number),
  /** What it occupies on a host's disk; null until it is ready. */
  storedBytes: Schema.NullOr(Schema.Number),
  /** The variables that the image gives to its programs, sealed. */
  env: Schema.NullOr(KeptEnv),
  statusReason: Schema.NullOr(Reason),
  createdAt: Schema.Number,
  readyAt: Schema.NullOr(Schema.Number),
  deletedAt: Schema.NullOr(Schema.Number)
})
export interface ImageContext extends Schema.Schema.Type<typeof ImageContext> {}
