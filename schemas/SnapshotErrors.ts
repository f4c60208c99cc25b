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
  withDetails("A snapshot can be taken of a Sandbox that runs, sleeps or is stopped; this one does not.", {
    status: Schema.String.annotate({ description: "The Sandbox's status." })
  }),
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
