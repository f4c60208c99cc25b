/** Calls of snapshots and of the Sandboxes of them, written by hand. */
import type { Answer, SandboxSeen, SnapshotSeen } from "../../../proofs/linear/calls.ts"
import { keptName } from "../../../proofs/linear/contract/rollbacks.ts"
import { done, type Row, refused, shownAs } from "./rows.ts"

const sandbox = "k"
const ms = 1

const snapshotAs = (status: string, name: string | null, more: Partial<SnapshotSeen> = {}): SnapshotSeen => ({
  ...{ id: "snp_1", fixed: "s", status, name },
  ...more
})
const saw = (status: string, name: string, more?: Partial<SnapshotSeen>): Answer => ({
  is: "snapshot",
  snapshot: snapshotAs(status, name, more),
  ms
})

export const snap = (status: string, more?: Partial<SnapshotSeen>): Row => [
  { sandbox, type: "snap", by: "s", name: "first" },
  saw(status, "first", more)
]
export const snapRefused = (code: string, status: string): Row => [
  { sandbox, type: "snap", by: "s", name: "first" },
  refused(code, status)
]
export const snapGet = (status: string, name = "first"): Row => [
  { sandbox, type: "snapGet", by: "s" },
  saw(status, name)
]
export const snapPatch = (name: string): Row => [{ sandbox, type: "snapPatch", by: "s", name }, saw("ready", name)]
export const snapPatchRefused = (code: string, status: string | null = null): Row => [
  { sandbox, type: "snapPatch", by: "s", name: "late" },
  refused(code, status)
]
export const snapDelete: Row = [{ sandbox, type: "snapDelete", by: "s" }, done]

export const child = (by: string, id: string, of = "s"): Row => [
  { sandbox, type: "child", by, of },
  { is: "children", snapshot: null, ids: [id], isWhole: true, ms }
]
export const childRefused = (status: string): Row => [
  { sandbox, type: "child", by: "c", of: "s" },
  refused("SNAPSHOT_NOT_READY", status)
]
export const fork = (status: string, ...ids: ReadonlyArray<string>): Row => [
  { sandbox, type: "fork", by: "s", count: 2 },
  { is: "children", snapshot: snapshotAs(status, null), ids, isWhole: true, ms }
]
export const childRead = (by: string, text: string | null): Row => [
  { sandbox, type: "childRead", by, path: "a" },
  { is: "text", text, ms }
]

/** To the snapshot "s"; the snapshot of its volume before is `by`. */
export const rollback = (status: string, more: Partial<SandboxSeen> = {}, kept = "creating", by = "r"): Row => [
  { sandbox, type: "rollback", by, of: "s" },
  {
    is: "rolledBack",
    sandbox: shownAs(status, { rollback: "open", ...more }),
    kept: snapshotAs(kept, keptName, { id: `snp_${by}`, fixed: by }),
    ms
  }
]
export const rollbackRefused = (code: string, status: string, by = "r"): Row => [
  { sandbox, type: "rollback", by, of: "s" },
  refused(code, status)
]
export const keptDelete: Row = [{ sandbox, type: "snapDelete", by: "r" }, done]
export const keptGet = (status: string): Row => [
  { sandbox, type: "snapGet", by: "r" },
  { is: "snapshot", snapshot: snapshotAs(status, keptName, { id: "snp_r", fixed: "r" }), ms }
]
