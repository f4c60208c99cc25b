/** Forks of a Sandbox, and what came from what. */
import { Schema } from "effect"
import { OperationId, SandboxId, SnapshotId } from "./Identifiers.ts"
import { GivenLifetime } from "./Lifetime.ts"
import { forkMax, lineageParentsMax, missingOperationsMax } from "./Limits.ts"
import { withDefault } from "./Optional.ts"
import { instantOrNull, NextCursor } from "./Query.ts"
import { Sandbox, SandboxMetadata, SandboxName } from "./Sandbox.ts"
import { Snapshot } from "./SnapshotRecord.ts"
import { Timestamp } from "./Text.ts"

export const ForkRequest = Schema.Struct({
  count: withDefault(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: forkMax })),
    1,
    `How many Sandboxes to make, at most ${forkMax}.`
  ),
  names: Schema.optionalKey(
    Schema.NullOr(
      Schema.Array(Schema.NullOr(SandboxName)).check(
        Schema.isMaxLength(forkMax, { toJsonSchema: () => ({ maxItems: forkMax }) })
      )
    ).annotate({
      description:
        "Their names, in order; null in it: no name. At most `count`; those without an entry are called as the source is."
    })
  ),
  atRevision: Schema.optionalKey(
    Schema.NullOr(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))).annotate({
      description:
        "A revision of the Sandbox's transition log: no snapshot is taken; the newest ready one at or before that revision is used, also of a deleted Sandbox. `missing` says what it does not contain. Not together with expiresAt. Absent or null: a new snapshot of now."
    })
  ),
  memory: withDefault(
    Schema.Boolean,
    false,
    "true: with the memory, so that each goes on with the running processes. Only of a virtual machine (else 422) that runs or sleeps (else 409)."
  ),
  metadata: Schema.optionalKey(
    Schema.NullOr(SandboxMetadata).annotate({ description: "Of each. Absent or null: the source's." })
  ),
  lifetime: Schema.optionalKey(
    Schema.NullOr(GivenLifetime).annotate({
      description: "Of each, as in createSandbox. Absent or null: the source's."
    })
  ),
  expiresAt: Schema.optionalKey(
    instantOrNull("When the snapshot is deleted: an instant in the future. Absent or null: 24 hours after this call.")
  )
}).annotate({
  identifier: "ForkRequest",
  description: "How many copies of a Sandbox to make. An absent body means {}."
})
export interface ForkRequest extends Schema.Schema.Type<typeof ForkRequest> {}

export const RefusedFork = Schema.Struct({
  index: Schema.Int.annotate({ description: "Which of them, from 0." }),
  code: Schema.String.annotate({ description: "The code of the error that createSandbox would have answered." }),
  message: Schema.String.annotate({ description: "For people; it may change." })
}).annotate({ identifier: "RefusedFork", description: "One Sandbox of a fork that was not made." })
export interface RefusedFork extends Schema.Schema.Type<typeof RefusedFork> {}

export const MissingInFork = Schema.Struct({
  transitions: Schema.Int.annotate({
    description: "Transitions of the Sandbox after the snapshot's revision, up to atRevision."
  }),
  operations: Schema.Array(OperationId).annotate({
    description: `Operations that began or ended after the snapshot was asked for, and before the Sandbox's next revision after atRevision: the newest ${missingOperationsMax}, newest first, of those whose records are kept.`
  }),
  operationCount: Schema.Int.annotate({ description: "How many such operations there are." })
}).annotate({
  identifier: "MissingInFork",
  description: "What happened in the Sandbox up to atRevision and is not in the snapshot."
})
export interface MissingInFork extends Schema.Schema.Type<typeof MissingInFork> {}

export const ForkResponse = Schema.Struct({
  snapshot: Snapshot,
  sandboxes: Schema.Array(Sandbox).annotate({ description: "Those that were made, in order." }),
  refused: Schema.Array(RefusedFork).annotate({ description: "Those that were not, in order." }),
  missing: Schema.NullOr(MissingInFork).annotate({ description: "Of a fork at a revision; else null." })
}).annotate({
  identifier: "ForkResponse",
  description: "The snapshot of a fork, and the Sandboxes that were made of it."
})
export interface ForkResponse extends Schema.Schema.Type<typeof ForkResponse> {}

export const LineageParent = Schema.Struct({
  snapshotId: SnapshotId,
  sandboxId: SandboxId
}).annotate({
  identifier: "LineageParent",
  description: "One step back: a snapshot, and the Sandbox that it was taken of."
})

export const LineageChild = Schema.Struct({
  snapshotId: SnapshotId,
  sandboxId: SandboxId,
  createdAt: Timestamp.annotate({ description: "When it was made." })
}).annotate({
  identifier: "LineageChild",
  description: "A Sandbox (sandboxId) that was made of a snapshot of this one."
})

export const SandboxLineage = Schema.Struct({
  parents: Schema.Array(LineageParent).annotate({
    description: `Nearest first, at most ${lineageParentsMax}. They end where a record is no longer kept.`
  }),
  children: Schema.Array(LineageChild).annotate({ description: "One page, newest first, deleted ones included." }),
  nextCursor: NextCursor
}).annotate({
  identifier: "SandboxLineage",
  description: "From which Sandboxes one comes, and which come from it: each over a snapshot."
})
export interface SandboxLineage extends Schema.Schema.Type<typeof SandboxLineage> {}
