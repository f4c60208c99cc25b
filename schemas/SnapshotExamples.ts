/** The examples of snapshots and forks in the OpenAPI description, by the names of their schemas. */
import { sandboxId, snapshotId, unique, workspaceId } from "./samples/ids.ts"

const gibibyte = 1024 ** 3
const profile = { vcpus: 1, memoryBytes: gibibyte / 2, diskBytes: gibibyte }
const otherSandboxId = `sbx_${unique.slice(0, -1)}r`

export const snapshotExamples: Readonly<Record<string, unknown>> = {
  CreateSnapshotRequest: { name: "before the migration", expiresAt: "2126-02-07T12:00:00.000Z" },
  UpdateSnapshotRequest: { name: "the last good one", expiresAt: null },
  Snapshot: {
    id: snapshotId,
    sandboxId,
    imported: false,
    workspaceId,
    sandboxRevision: 2,
    generation: 1,
    name: "before the migration",
    status: "ready",
    statusReason: null,
    checkpoint: false,
    runtime: "namespace",
    profile,
    networkEnabled: true,
    metadata: { team: "blue" },
    envNames: ["API_TOKEN"],
    memory: false,
    imageId: null,
    sizeBytes: gibibyte,
    storedBytes: 73_400_320,
    pausedMs: 12,
    createdAt: "2026-01-31T12:00:05.000Z",
    readyAt: "2026-01-31T12:00:06.000Z",
    expiresAt: "2126-02-07T12:00:00.000Z",
    deletedAt: null
  },
  ForkRequest: { count: 2, names: ["first try", "second try"], lifetime: { deleteAfterStoppedSeconds: 3600 } },
  MissingInFork: { transitions: 3, operations: ["op_0123456789abcdef0123456789abcdef"], operationCount: 1 },
  RefusedFork: {
    index: 1,
    code: "SANDBOX_LIMIT_REACHED",
    message: "The account has as many Sandboxes as it may have, stopped ones included. Delete one first."
  },
  RollbackRequest: { snapshotId },
  SandboxLineage: {
    parents: [],
    children: [{ snapshotId, sandboxId: otherSandboxId, createdAt: "2026-01-31T12:00:09.000Z" }],
    nextCursor: null
  }
}
