/** Files of snapshots, as another server would have written them. */
import { buffer } from "node:stream/consumers"
import type { ImagePiece } from "../../../src/runtime/Runtime.ts"
import { encodeSnapshot } from "../../../src/snapshot/file/encodeSnapshot.ts"
import { headOf, type SnapshotHeader } from "../../../src/snapshot/file/SnapshotHeader.ts"

export const snapshotHeader: SnapshotHeader = {
  ...{ snapshotId: "elsewhere", createdAt: 0, sizeBytes: 1024 ** 2, owner: null, runtime: "namespace" },
  profile: { vcpus: 1, memoryBytes: 1024 ** 3, diskBytes: 1024 ** 2 },
  ...{ networkEnabled: false, name: null, sandboxName: null, metadata: {} }
}

async function* piecesOf(pieces: ReadonlyArray<ImagePiece>) {
  yield* pieces
}

export const snapshotFile = (
  changes: Partial<SnapshotHeader> = {},
  pieces: ReadonlyArray<ImagePiece> = []
): Promise<Buffer> => {
  const header = { ...snapshotHeader, ...changes }
  return buffer(encodeSnapshot(headOf(header), { sizeBytes: header.sizeBytes, pieces: piecesOf(pieces) }, 0))
}
