/** The context of a connection grant's machine: its type, and its stored form. */
import { Schema } from "effect"
import { Reason } from "../Sandbox.ts"

export const ConnectionGrantContext = Schema.Struct({
  endpointId: Schema.String,
  accountId: Schema.String,
  sandboxId: Schema.String,
  /** The Sandbox's generation that it leads into. */
  generation: Schema.Number,
  /** `algorithm base64` of each key, without its comment. */
  publicKeys: Schema.Array(Schema.String),
  createdAt: Schema.Number,
  expiresAt: Schema.Number,
  /** When the latest connection was admitted. */
  connectedAt: Schema.NullOr(Schema.Number),
  endedAt: Schema.NullOr(Schema.Number),
  reason: Schema.NullOr(Reason)
})
export interface ConnectionGrantContext extends Schema.Schema.Type<typeof ConnectionGrantContext> {}
