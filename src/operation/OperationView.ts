/** Converts an Operation's snapshot, payload and output totals to the contract's form. */
import { shownProcessTree } from "../../machines/operation.ts"
import type { OperationContext } from "../../schemas/contexts/Operation.ts"
import type { Operation } from "../../schemas/Operation.ts"
import type { ActorRecord, ReadActor } from "../store/Actors.ts"
import type { OperationPayload } from "./OperationPayload.ts"

export type OperationRecord = ActorRecord<OperationContext, OperationPayload>

/** One that was read alone, with the ends of its output. */
export type ReadOperation = ReadActor<OperationContext, OperationPayload>

const instantOrNull = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())

export const operationView = (
  { status, context, payload }: Pick<OperationRecord, "status" | "context" | "payload">,
  stored: { readonly stdout: number; readonly stderr: number }
): Operation => ({
  id: context.operationId,
  sandboxId: context.sandboxId,
  status: status as Operation["status"],
  argv: payload.argv,
  cwd: payload.cwd,
  exitCode: context.exitCode,
  signal: context.signal,
  reason: context.reason,
  createdAt: new Date(context.createdAt).toISOString(),
  startedAt: instantOrNull(context.startedAt),
  finishedAt: instantOrNull(context.finishedAt),
  output: { stdoutBytes: stored.stdout, stderrBytes: stored.stderr },
  processTree: shownProcessTree(status, context)
})

export const readView = (read: ReadOperation): Operation => operationView(read, read.stored)
