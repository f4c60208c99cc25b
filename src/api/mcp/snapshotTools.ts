/** Tools that keep the volume of a Sandbox, and make copies of a Sandbox. */
import { randomUUID } from "node:crypto"
import { Effect, Schedule, Schema } from "effect"
import { snapshotMachine } from "../../../machines/snapshot.ts"
import { ForkRequest, ForkResponse, RefusedFork } from "../../../schemas/Fork.ts"
import { SandboxId, SnapshotId } from "../../../schemas/Identifiers.ts"
import { Cursor, NextCursor } from "../../../schemas/Query.ts"
import { SandboxRollback } from "../../../schemas/Sandbox.ts"
import { CreateSnapshotRequest } from "../../../schemas/Snapshot.ts"
import { Snapshot, snapshotStatuses } from "../../../schemas/SnapshotRecord.ts"
import { fingerprint } from "../../account/idempotency/Fingerprint.ts"
import { isTagged } from "../../engine/taggedStates.ts"
import { Sandboxes } from "../../sandbox/Sandboxes.ts"
import { isAsleep, isAwaited } from "../../sandbox/sandboxStates.ts"
import { Snapshots } from "../../snapshot/Snapshots.ts"
import { isSnapshotGone } from "../../snapshot/snapshotStates.ts"
import { ShownSandbox, shownSandbox } from "./shownSandbox.ts"
import { defineTool, type Tool, type ToolCaller } from "./Tool.ts"
import { idempotencyKey } from "./toolFields.ts"

const listedDefault = 20
const listedMax = 100
const waitMax = "30 seconds"
const every = Schedule.spaced("100 millis")

const isBeingMade = isTagged(snapshotMachine, "awaited")

/** The last value that `look` gives within 30 s, or the first one that is final. */
const settled = <A, E>(look: Effect.Effect<A, E>, isFinal: (found: A) => boolean) =>
  look.pipe(
    Effect.repeat({ until: isFinal, schedule: every }),
    Effect.timeoutOrElse({ duration: waitMax, orElse: () => look })
  )

/** The facts about a snapshot that a model needs: each word costs tokens. */
const Shown = Schema.Struct({
  id: Snapshot.fields.id.annotate({ description: "The snapshotId of create_sandbox." }),
  sandboxId: Snapshot.fields.sandboxId,
  sandboxRevision: Snapshot.fields.sandboxRevision,
  checkpoint: Snapshot.fields.checkpoint,
  name: Snapshot.fields.name,
  memory: Snapshot.fields.memory,
  status: Snapshot.fields.status,
  statusReason: Snapshot.fields.statusReason,
  storedBytes: Snapshot.fields.storedBytes,
  createdAt: Snapshot.fields.createdAt,
  expiresAt: Snapshot.fields.expiresAt
})

const shown = (snapshot: Snapshot): typeof Shown.Type => {
  const { id, sandboxId, sandboxRevision, checkpoint, name, memory, status, statusReason, storedBytes } = snapshot
  const { createdAt, expiresAt } = snapshot
  return {
    id,
    sandboxId,
    sandboxRevision,
    checkpoint,
    name,
    memory,
    status,
    statusReason,
    storedBytes,
    createdAt,
    expiresAt
  }
}

const createTool = (snapshots: Snapshots["Service"]): Tool =>
  defineTool({
    name: "create_snapshot",
    title: "Take a snapshot",
    description:
      "Keeps the volume of a Sandbox, and so /workspace, as it is now; what runs goes on. Waits up to 30 s until it is ready. create_sandbox with its id as snapshotId makes a Sandbox that begins with these files, also after the first one was deleted. With memory, such a Sandbox goes on with the processes, too; no operation there names them. It stays until it is deleted, or until expiresAt.",
    action: "createSnapshot",
    hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    input: Schema.Struct({
      sandboxId: SandboxId,
      ...CreateSnapshotRequest.fields,
      idempotencyKey: idempotencyKey("the same snapshot")
    }),
    output: Schema.Struct({ snapshot: Shown }),
    call: Effect.fnUntraced(function* ({ sandboxId, idempotencyKey: key, memory, ...given }, caller: ToolCaller) {
      const request = { ...given, memory }
      const accepted = yield* snapshots
        .create(caller.accountId, sandboxId, {
          requestId: caller.requestId,
          idempotencyKey: key ?? randomUUID(),
          fingerprint: fingerprint("POST", `/mcp ${sandboxId}/snapshots`, JSON.stringify(request)),
          request
        })
        .pipe(Effect.uninterruptible)
      caller.made(accepted.id)
      const ended = yield* settled(snapshots.get(caller.accountId, accepted.id), ({ status }) => !isBeingMade(status))
      return { snapshot: shown(ended) }
    })
  })

const listTool = (snapshots: Snapshots["Service"]): Tool =>
  defineTool({
    name: "list_snapshots",
    title: "List snapshots",
    description: "Lists the account's snapshots, newest first, without deleted ones.",
    action: "listSnapshots",
    hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: Schema.Struct({
      sandboxId: Schema.optionalKey(SandboxId.annotate({ description: "Only those of this Sandbox." })),
      limit: Schema.optionalKey(
        Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: listedMax })).annotate({
          description: `Maximum entries of the answer. By default ${listedDefault}.`
        })
      ),
      cursor: Schema.optionalKey(Cursor)
    }),
    output: Schema.Struct({ snapshots: Schema.Array(Shown), nextCursor: NextCursor }),
    call: ({ sandboxId, limit, cursor }, { accountId }) =>
      Effect.map(
        snapshots.list(accountId, {
          sandboxId: sandboxId ?? null,
          status: snapshotStatuses.filter((status) => !isSnapshotGone(status)),
          limit: limit ?? listedDefault,
          cursor: cursor ?? null
        }),
        (page) => ({ snapshots: page.snapshots.map(shown), nextCursor: page.nextCursor })
      )
  })

const deleteTool = (snapshots: Snapshots["Service"]): Tool =>
  defineTool({
    name: "delete_snapshot",
    title: "Delete a snapshot",
    description: "Permanently deletes a snapshot. Sandboxes that were made of it keep their files.",
    action: "deleteSnapshot",
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    input: Schema.Struct({ snapshotId: SnapshotId }),
    output: Schema.Struct({
      snapshotId: SnapshotId,
      deleted: Schema.Literal(true).annotate({ description: "The deletion is stored and cannot be undone." })
    }),
    call: ({ snapshotId }, { accountId, requestId }) =>
      Effect.as(snapshots.remove(accountId, snapshotId, { requestId }), { snapshotId, deleted: true as const }).pipe(
        Effect.uninterruptible
      )
  })

const forkTool = (snapshots: Snapshots["Service"], sandboxes: Sandboxes["Service"]): Tool =>
  defineTool({
    name: "fork_sandbox",
    title: "Make copies of a Sandbox",
    description:
      "Makes Sandboxes that begin with the same files, for example to try several changes beside each other and to keep the one that works. Waits up to 30 s until they run; one that is still pending is in list_sandboxes. refused has those that a limit did not allow. With atRevision they begin from the newest snapshot at or before that revision, and missing has what happened since. With memory they go on with the running processes, which no operation there names. Delete each with delete_sandbox when it is no longer needed.",
    action: "forkSandbox",
    hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    input: Schema.Struct({
      sandboxId: SandboxId,
      ...ForkRequest.fields,
      idempotencyKey: idempotencyKey("the same Sandboxes")
    }),
    output: Schema.Struct({
      snapshotId: SnapshotId,
      sandboxes: Schema.Array(ShownSandbox),
      refused: Schema.Array(RefusedFork),
      missing: ForkResponse.fields.missing
    }),
    call: Effect.fnUntraced(function* ({ sandboxId, idempotencyKey: key, memory, ...given }, caller: ToolCaller) {
      const { accountId, requestId } = caller
      const request = { ...given, memory }
      const made = yield* snapshots
        .fork(accountId, sandboxId, {
          requestId,
          idempotencyKey: key ?? randomUUID(),
          fingerprint: fingerprint("POST", `/mcp ${sandboxId}/fork`, JSON.stringify(request)),
          request
        })
        .pipe(Effect.uninterruptible)
      caller.made(made.snapshot.id)
      const looks = made.sandboxes.map(({ id }) => sandboxes.get(accountId, id))
      const children = yield* settled(Effect.all(looks), (found) =>
        found.every(({ status }) => !isAwaited(status) || isAsleep(status))
      )
      return {
        snapshotId: made.snapshot.id,
        sandboxes: children.map(shownSandbox),
        refused: made.refused,
        missing: made.missing
      }
    })
  })

const rollbackTool = (snapshots: Snapshots["Service"], sandboxes: Sandboxes["Service"]): Tool =>
  defineTool({
    name: "rollback_sandbox",
    title: "Roll a Sandbox back",
    description:
      "Replaces the files of a Sandbox by those of a snapshot, for example after a change that failed. What runs in it is ended; by a snapshot with memory the processes of then go on. Its files before become a snapshot for 24 hours (kept), to which it can be rolled back. Waits up to 30 s until it runs again, or is stopped if it was.",
    action: "rollbackSandbox",
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    input: Schema.Struct({
      sandboxId: SandboxId,
      snapshotId: SnapshotId,
      idempotencyKey: idempotencyKey("the same rollback")
    }),
    output: Schema.Struct({
      sandbox: ShownSandbox,
      outcome: SandboxRollback.fields.outcome,
      reason: SandboxRollback.fields.reason,
      kept: Schema.NullOr(Shown)
    }),
    call: Effect.fnUntraced(function* ({ sandboxId, snapshotId, idempotencyKey: key }, caller: ToolCaller) {
      const { accountId, requestId, exhaustedAt } = caller
      const request = { snapshotId, keep: true }
      const asked = yield* snapshots
        .rollback(accountId, sandboxId, {
          ...{ requestId, exhaustedAt, request, mayDelete: false },
          idempotencyKey: key ?? randomUUID(),
          fingerprint: fingerprint("POST", `/mcp ${sandboxId}/rollback`, JSON.stringify(request))
        })
        .pipe(Effect.uninterruptible)
      if (asked.kept !== null) caller.made(asked.kept.id)
      const sandbox = yield* settled(
        sandboxes.get(accountId, sandboxId),
        ({ status, rollback }) => rollback?.outcome !== "open" && (!isAwaited(status) || isAsleep(status))
      )
      const kept = asked.kept === null ? null : shown(yield* snapshots.get(accountId, asked.kept.id))
      return {
        sandbox: shownSandbox(sandbox),
        outcome: sandbox.rollback?.outcome ?? "open",
        reason: sandbox.rollback?.reason ?? null,
        kept
      }
    })
  })

export const snapshotTools = Effect.gen(function* () {
  const snapshots = yield* Snapshots
  const sandboxes = yield* Sandboxes
  return [
    createTool(snapshots),
    listTool(snapshots),
    deleteTool(snapshots),
    forkTool(snapshots, sandboxes),
    rollbackTool(snapshots, sandboxes)
  ]
})
