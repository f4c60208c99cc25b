/** The errors of snapshots and of what is made of them. */
import { Schema } from "effect"
import { plain, withDetails } from "./ErrorShape.ts"

export class SnapshotNotReady extends Schema.TaggedError<SnapshotNotReady>()(
  "SNAPSHOT_NOT_READY",
  withDetails("The snapshot is not ready; details.status says what it is.", {
    status: Schema.String.annotate({ description: "The snapshot's status." })
  }),
  { httpApiStatus: 409 }
) {}

export class SandboxNotCapturable extends Schema.TaggedError<SandboxNotCapturable>()(
  "SANDBOX_NOT_CAPTURABLE",
  withDetails(
    "A snapshot can be taken of a Sandbox that runs, sleeps or is stopped, and with memory of one that runs or sleeps; this one does not.",
    {
      status: Schema.String.annotate({ description: "The Sandbox's status." })
    }
  ),
  { httpApiStatus: 409 }
) {}

export class SandboxCannotRollBack extends Schema.TaggedError<SandboxCannotRollBack>()(
  "SANDBOX_CANNOT_ROLL_BACK",
  withDetails("A Sandbox can be rolled back while it runs, sleeps or is stopped; this one does not.", {
    status: Schema.String.annotate({ description: "The Sandbox's status." })
  }),
  { httpApiStatus: 409 }
) {}

export class SnapshotDoesNotFit extends Schema.TaggedError<SnapshotDoesNotFit>()(
  "SNAPSHOT_DOES_NOT_FIT",
  withDetails("The Sandbox cannot get the volume of this snapshot; the message says why.", {
    differs: Schema.Literals(["workspace", "runtime", "disk", "host"]).annotate({
      description:
        "Where the snapshot differs from the Sandbox; disk: the snapshot's is larger; host: only earlier versions of Atoll answer that."
    })
  }),
  { httpApiStatus: 409 }
) {}

export class NoSnapshotAtRevision extends Schema.TaggedError<NoSnapshotAtRevision>()(
  "NO_SNAPSHOT_AT_REVISION",
  withDetails(
    "No snapshot of this Sandbox that is ready was taken at that revision or before it. Take a later one; details.oldestRevision is the oldest that has one.",
    {
      oldestRevision: Schema.NullOr(Schema.Int).annotate({
        description: "The lowest sandboxRevision of its ready snapshots; null: it has none."
      })
    }
  ),
  { httpApiStatus: 409 }
) {}

export class MemoryNotSupported extends Schema.TaggedError<MemoryNotSupported>()(
  "MEMORY_NOT_SUPPORTED",
  plain("The runtime of this Sandbox cannot keep memory and processes in a snapshot. Send memory false."),
  { httpApiStatus: 422 }
) {}

export class SnapshotLimitReached extends Schema.TaggedError<SnapshotLimitReached>()(
  "SNAPSHOT_LIMIT_REACHED",
  withDetails("The account has as many snapshots as it may have, failed ones included. Delete one first.", {
    limit: Schema.Int.annotate({ description: "How many it may have." })
  }),
  { httpApiStatus: 429 }
) {}

/** By their codes. */
export const snapshotErrors = {
  SNAPSHOT_NOT_READY: SnapshotNotReady,
  SANDBOX_NOT_CAPTURABLE: SandboxNotCapturable,
  SANDBOX_CANNOT_ROLL_BACK: SandboxCannotRollBack,
  SNAPSHOT_DOES_NOT_FIT: SnapshotDoesNotFit,
  NO_SNAPSHOT_AT_REVISION: NoSnapshotAtRevision,
  MEMORY_NOT_SUPPORTED: MemoryNotSupported,
  SNAPSHOT_LIMIT_REACHED: SnapshotLimitReached
}
