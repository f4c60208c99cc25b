/** A snapshot: the volume of a Sandbox as it was at one instant, of which other Sandboxes can be made. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authorized, MayBeLarge, OptionalBody, RequiredScope } from "./Access.ts"
import {
  CreditExhausted,
  IdempotencyConflict,
  InvalidRequest,
  NotFound,
  PayloadTooLarge,
  RateLimited,
  SandboxUnavailable,
  ScopeRequired,
  StorageLimitReached,
  UnsupportedMediaType
} from "./Errors.ts"
import { ForkRequest, ForkResponse, SandboxLineage } from "./Fork.ts"
import * as IdempotencyKey from "./IdempotencyKey.ts"
import { SandboxId, SnapshotId } from "./Identifiers.ts"
import { orNull, withDefault } from "./Optional.ts"
import { instantOrNull, NextCursor, page, several } from "./Query.ts"
import { RollbackRequest, RollbackResponse } from "./Rollback.ts"
import { SandboxName } from "./Sandbox.ts"
import {
  MemoryNotSupported,
  NoSnapshotAtRevision,
  SandboxCannotRollBack,
  SandboxNotCapturable,
  SnapshotDoesNotFit,
  SnapshotLimitReached,
  SnapshotNotReady
} from "./SnapshotErrors.ts"
import { exportSnapshot, importSnapshot } from "./SnapshotFile.ts"
import { Snapshot, SnapshotResponse, SnapshotStatus } from "./SnapshotRecord.ts"
import { TransitionList } from "./Transition.ts"

export const memoryMeaning =
  "true: the memory and the running processes, too, of the same instant. Only of a virtual machine (else 422) that runs or sleeps (else 409)."

export const CreateSnapshotRequest = Schema.Struct({
  name: orNull(SandboxName, "For people; names need not be unique. Absent or null: none."),
  memory: withDefault(Schema.Boolean, false, memoryMeaning),
  expiresAt: Schema.optionalKey(
    instantOrNull("When it is deleted by itself: an instant in the future. Absent or null: never.")
  )
}).annotate({ identifier: "CreateSnapshotRequest", description: "A snapshot to take. An absent body means {}." })
export interface CreateSnapshotRequest extends Schema.Schema.Type<typeof CreateSnapshotRequest> {}

export const UpdateSnapshotRequest = Schema.Struct({
  name: Schema.optionalKey(Schema.NullOr(SandboxName).annotate({ description: "null: none." })),
  expiresAt: Schema.optionalKey(instantOrNull("When it is deleted by itself: an instant in the future. null: never."))
}).annotate({
  identifier: "UpdateSnapshotRequest",
  description: "A JSON Merge Patch (RFC 7396): what is absent stays as it is, null removes."
})
export interface UpdateSnapshotRequest extends Schema.Schema.Type<typeof UpdateSnapshotRequest> {}

export const SnapshotList = Schema.Struct({
  snapshots: Schema.Array(Snapshot).annotate({ description: "One page." }),
  nextCursor: NextCursor
}).annotate({ identifier: "SnapshotList", description: "Newest first, deleted ones included." })
export interface SnapshotList extends Schema.Schema.Type<typeof SnapshotList> {}

const listQuery = {
  sandboxId: Schema.optionalKey(SandboxId),
  status: Schema.optionalKey(
    several(SnapshotStatus, "Only those in one of these: the parameter repeated, or commas between them.")
  ),
  ...page
}

const params = { id: SnapshotId }
const jsonBody = [InvalidRequest, PayloadTooLarge, UnsupportedMediaType] as const
/** What a snapshot of a Sandbox can be refused with. */
const taken = [
  ...jsonBody,
  CreditExhausted,
  NotFound,
  IdempotencyConflict,
  SandboxNotCapturable,
  MemoryNotSupported,
  SnapshotLimitReached,
  StorageLimitReached,
  SandboxUnavailable
] as const

const snapshotCalls = HttpApiGroup.make("snapshots").add(
  HttpApiEndpoint.post("createSnapshot", "/sandboxes/:id/snapshots", {
    params: { id: SandboxId },
    headers: IdempotencyKey.ofSnapshot,
    payload: CreateSnapshotRequest,
    success: SnapshotResponse.pipe(HttpApiSchema.status(202)),
    error: taken
  })
    .annotate(RequiredScope, "sandbox:create")
    .annotate(OptionalBody, true)
    .annotateMerge(
      OpenApi.annotations({
        identifier: "createSnapshot",
        summary: "Take a snapshot of a Sandbox's volume, or of its memory, too",
        description:
          "Of a Sandbox that runs, sleeps or is stopped; in any other status 409 SANDBOX_NOT_CAPTURABLE. Answers immediately: `creating` until its host has the whole image, then `ready`, or `failed` with the reason. A Sandbox that runs goes on; its writers wait for a moment (`pausedMs`). What a program has not yet written to its files is not in the image. With `memory`, the memory is saved while the Sandbox runs, and it stands still for the last part of that: its processes, connections and operations go on afterwards. The snapshot stays on the host of its Sandbox and outlives it. An account has so many at a time (429 SNAPSHOT_LIMIT_REACHED), and the bytes that they occupy count toward the storage limit of the workspace. A repeated Idempotency-Key gives the same snapshot."
      })
    ),
  HttpApiEndpoint.get("listSnapshots", "/snapshots", {
    query: listQuery,
    success: SnapshotList,
    error: [InvalidRequest, RateLimited]
  })
    .annotate(MayBeLarge, true)
    .annotate(RequiredScope, "sandbox:read")
    .annotateMerge(
      OpenApi.annotations({
        identifier: "listSnapshots",
        summary: "List snapshots",
        description: "Filters are optional and all must match. sandboxId: those that were taken of that Sandbox."
      })
    ),
  HttpApiEndpoint.get("getSnapshot", "/snapshots/:id", { params, success: SnapshotResponse, error: NotFound })
    .annotate(RequiredScope, "sandbox:read")
    .annotateMerge(
      OpenApi.annotations({
        identifier: "getSnapshot",
        summary: "Get a snapshot",
        description: "Deleted ones stay readable for the retention time."
      })
    ),
  HttpApiEndpoint.patch("updateSnapshot", "/snapshots/:id", {
    params,
    payload: UpdateSnapshotRequest,
    success: SnapshotResponse,
    error: [...jsonBody, NotFound, ScopeRequired, SnapshotNotReady, SandboxUnavailable]
  })
    .annotate(RequiredScope, "sandbox:create")
    .annotateMerge(
      OpenApi.annotations({
        identifier: "updateSnapshot",
        summary: "Change a snapshot's name or expiry",
        description:
          "All of it or nothing. To set expiresAt the key also needs the scope `sandbox:delete`. deleting: 409; deleted: 404. Repeated: the same."
      })
    ),
  HttpApiEndpoint.delete("deleteSnapshot", "/snapshots/:id", { params, error: [NotFound, SandboxUnavailable] })
    .annotate(RequiredScope, "sandbox:delete")
    .annotateMerge(
      OpenApi.annotations({
        identifier: "deleteSnapshot",
        summary: "Delete a snapshot",
        description:
          "Durable immediately, and never undone; a capture that still runs is given up. Sandboxes that were made of it keep their volumes. A Sandbox that was created before and has not booted yet still gets the image: `deleting` waits until no `pending` Sandbox needs it for its first boot. Answers when the image is gone, or after 10 s while the deletion goes on. Repeated: 204."
      })
    ),
  HttpApiEndpoint.get("listSnapshotTransitions", "/snapshots/:id/transitions", {
    params,
    query: page,
    success: TransitionList,
    error: [InvalidRequest, RateLimited, NotFound]
  })
    .annotate(MayBeLarge, true)
    .annotate(RequiredScope, "sandbox:read")
    .annotateMerge(
      OpenApi.annotations({
        identifier: "listSnapshotTransitions",
        summary: "The transition log of a snapshot",
        description: "Every step of its state machine, from its creation on. It is kept as long as the snapshot."
      })
    )
)

export class SnapshotsGroup extends snapshotCalls
  .add(
    exportSnapshot,
    importSnapshot,
    HttpApiEndpoint.post("forkSandbox", "/sandboxes/:id/fork", {
      params: { id: SandboxId },
      headers: IdempotencyKey.required,
      payload: ForkRequest,
      success: ForkResponse.pipe(HttpApiSchema.status(202)),
      error: [...taken, NoSnapshotAtRevision]
    })
      .annotate(RequiredScope, "sandbox:create")
      .annotate(OptionalBody, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "forkSandbox",
          summary: "Make copies of a Sandbox",
          description:
            "One snapshot, and as many new Sandboxes of it: all begin with the same volume. Each is created for itself, as by createSandbox with snapshotId: under the limits, the credit and the room of the hosts. Those that are refused are in `refused`; the others are `pending` until the snapshot is ready and they have booted, and `failed` if it fails. They have the source's workspace, runtime, network and variables. A repeated Idempotency-Key gives the same snapshot, Sandboxes and refusals. A fork that was cut off goes on when it is repeated. With atRevision it begins from the past: of the snapshots of that Sandbox that are ready, checkpoints or not, the newest at or before that revision is used; 409 NO_SNAPSHOT_AT_REVISION where there is none. A fork takes no checkpoints unless it is changed to."
        })
      ),
    HttpApiEndpoint.post("rollbackSandbox", "/sandboxes/:id/rollback", {
      params: { id: SandboxId },
      headers: IdempotencyKey.ofRollback,
      payload: RollbackRequest,
      success: RollbackResponse.pipe(HttpApiSchema.status(202)),
      error: [
        ...jsonBody,
        CreditExhausted,
        ScopeRequired,
        NotFound,
        IdempotencyConflict,
        SnapshotLimitReached,
        StorageLimitReached,
        SandboxUnavailable,
        SandboxCannotRollBack,
        SnapshotDoesNotFit,
        SnapshotNotReady
      ]
    })
      .annotate(RequiredScope, "sandbox:create")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "rollbackSandbox",
          summary: "Give a Sandbox the volume of a snapshot",
          description:
            "The same Sandbox with the files of then, and everything else as it is: name, metadata, variables, sizes, lifetime. A Sandbox that runs or sleeps is stopped first: its operations become failed with SANDBOX_ROLLED_BACK, previews and accesses close. Its volume is kept as a snapshot (`kept`), taken once nothing writes to it any more; then it is `restoring` while its host replaces the volume, whole or not at all. A snapshot with memory gives the memory and the processes of then, too, at the boot that follows, if the Sandbox has the same sizes and network as its source had; otherwise the volume alone. It boots again if it ran or slept, and stays stopped if it was; either way its generation is one higher. A start or stop meanwhile says what it does afterwards; a deletion wins. `rollback` of the Sandbox tells the outcome: if the present volume cannot be kept, or its host has no room, nothing is changed. In any other status, failed too: 409 SANDBOX_CANNOT_ROLL_BACK. In a fleet a snapshot of another host is brought to the Sandbox's; if that fails, nothing is changed. A snapshot of another workspace or runtime, or a larger one: 409 SNAPSHOT_DOES_NOT_FIT."
        })
      ),
    HttpApiEndpoint.get("readSandboxLineage", "/sandboxes/:id/lineage", {
      params: { id: SandboxId },
      query: page,
      success: SandboxLineage,
      error: [InvalidRequest, NotFound]
    })
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "readSandboxLineage",
          summary: "From which Sandboxes a Sandbox comes, and which come from it",
          description: "Over snapshots and forks, as far back as their records are kept."
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(
    OpenApi.annotations({ title: "Snapshots", description: "Volumes of Sandboxes as they were at one instant." })
  ) {}
