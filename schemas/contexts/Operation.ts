/** The context of an Operation's machine: its type, and its stored form. */
import { Schema } from "effect"
import { Reason } from "../Sandbox.ts"

export const OperationContext = Schema.Struct({
  operationId: Schema.String,
  accountId: Schema.String,
  sandboxId: Schema.String,
  /** The Sandbox's generation in which the command runs. */
  generation: Schema.Number,
  timeoutMs: Schema.NullOr(Schema.Number),
  createdAt: Schema.Number,
  startedAt: Schema.NullOr(Schema.Number),
  finishedAt: Schema.NullOr(Schema.Number),
  exitCode: Schema.NullOr(Schema.Number),
  signal: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Reason),
  processTree: Schema.Literals(["running", "gone", "unconfirmed"])
})
export interface OperationContext extends Schema.Schema.Type<typeof OperationContext> {}
