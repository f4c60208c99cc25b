/** The context of a host's machine: its type, and its stored form. */
import { Schema } from "effect"
import { Reason } from "../Sandbox.ts"

export const HostContext = Schema.Struct({
  hostId: Schema.String,
  /** The host's process that joined last. */
  boot: Schema.String,
  /** What the operator wants of the host. */
  wish: Schema.Literals(["open", "cordoned", "draining"]),
  /** Why it is not ready, or a remark on its state; null: none. */
  reason: Schema.NullOr(Reason),
  /** Canaries and rows of boots that failed since a Sandbox booted there; counted up to `failuresMax`. */
  failures: Schema.Number,
  /** Its machines were compared with its Sandboxes since it joined. */
  isReconciled: Schema.Boolean,
  /** A canary booted there since it joined. */
  isProven: Schema.Boolean,
  /** When a canary is tried again, epoch milliseconds; null: no try is planned. */
  retryAt: Schema.NullOr(Schema.Number),
  /** The last beat that mattered, epoch milliseconds. */
  seenAt: Schema.Number,
  /** How long it may be silent from then on. */
  leaseMs: Schema.Number,
  createdAt: Schema.Number,
  /** When it entered its state. */
  updatedAt: Schema.Number,
  /** When it was given up; null: it was not. */
  endedAt: Schema.NullOr(Schema.Number)
})
export interface HostContext extends Schema.Schema.Type<typeof HostContext> {}
