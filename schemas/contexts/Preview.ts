/** The context of a preview's machine: its type, and its stored form. */
import { Schema } from "effect"
import { Reason } from "../Sandbox.ts"

export const PreviewContext = Schema.Struct({
  /** SHA-256 of the preview id, 64 lowercase hexadecimal characters. */
  previewSha256: Schema.String,
  accountId: Schema.String,
  sandboxId: Schema.String,
  /** The Sandbox's generation that it leads into. */
  generation: Schema.Number,
  port: Schema.Number,
  createdAt: Schema.Number,
  expiresAt: Schema.Number,
  endedAt: Schema.NullOr(Schema.Number),
  reason: Schema.NullOr(Reason)
})
export interface PreviewContext extends Schema.Schema.Type<typeof PreviewContext> {}
