/** The context of an image's machine: its type, and its stored form. */
import { Schema } from "effect"
import { Reason } from "../Sandbox.ts"
import { KeptEnv } from "./Sandbox.ts"

/** A build, in a Sandbox that is there before the image. */
export const ImageBuild = Schema.Struct({
  sandboxId: Schema.String,
  /** Null: not accepted yet. */
  operationId: Schema.NullOr(Schema.String),
  /** A path below /workspace; null: the text is sealed with the credentials. */
  dockerfile: Schema.NullOr(Schema.String),
  target: Schema.NullOr(Schema.String),
  /** It has made its archive, or never will. */
  isOver: Schema.Boolean
})
export interface ImageBuild extends Schema.Schema.Type<typeof ImageBuild> {}

export const ImageContext = Schema.Struct({
  imageId: Schema.String,
  accountId: Schema.String,
  name: Schema.NullOr(Schema.String),
  /** As it was asked for; null: it came as an archive, or is built. */
  reference: Schema.NullOr(Schema.String),
  /** Name and password for the registry, and what a build is given, sealed; null: neither. */
  credentials: Schema.NullOr(KeptEnv),
  build: Schema.NullOr(ImageBuild),
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
