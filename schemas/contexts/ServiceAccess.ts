/** The context of a service access's machine: its type, and its stored form. */
import { Schema } from "effect"
import { Reason } from "../Sandbox.ts"

export const ServiceAccessContext = Schema.Struct({
  /** The caller's UUID v4, lowercase. */
  generationId: Schema.String,
  accountId: Schema.String,
  sandboxId: Schema.String,
  /** The Sandbox's generation that it leads into. */
  generation: Schema.Number,
  /** Ascending. */
  ports: Schema.Array(Schema.Number),
  /** The caller's `requested_at`. */
  requestedAt: Schema.Number,
  createdAt: Schema.Number,
  /** Exactly `requestedAt` + `lifetimeMs`. */
  expiresAt: Schema.Number,
  endedAt: Schema.NullOr(Schema.Number),
  /** The client whose connections are kept. */
  client: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Reason),
  /** How its connections ended; null before that. */
  cleanup: Schema.NullOr(Schema.Literals(["confirmed", "unconfirmed"]))
})
export interface ServiceAccessContext extends Schema.Schema.Type<typeof ServiceAccessContext> {}
