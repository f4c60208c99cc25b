/** Calls of snapshots and of the Sandboxes of them, written by hand. */
import type { Answer, SnapshotSeen } from "../../../proofs/linear/calls.ts"
import { done, type Row, refused } from "./rows.ts"

const sandbox = "k"
const ms = 1

const shownAs = (status: string, name: string | null, more: Partial<SnapshotSeen> = {}): SnapshotSeen => ({
  ...{ id: "snp_1", fixed: "s", status, name },
  ...more
})
const saw = (status: string, name: string, more?: Partial<SnapshotSeen>): Answer => ({
  is: "snapshot",
  snapshot: shownAs(status, name, more),
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

export const child = (by: string, id: string): Row => [
  { sandbox, type: "child", by, of: "s" },
  { is: "children", snapshot: null, ids: [id], isWhole: true, ms }
]
export const childRefused = (status: string): Row => [
  { sandbox, type: "child", by: "c", of: "s" },
  refused("SNAPSHOT_NOT_READY", status)
]
export const fork = (status: string, ...ids: ReadonlyArray<string>): Row => [
  { sandbox, type: "fork", by: "s", count: 2 },
  { is: "children", snapshot: shownAs(status, null), ids, isWhole: true, ms }
]
export const childRead = (by: string, text: string | null): Row => [
  { sandbox, type: "childRead", by, path: "a" },
  { is: "text", text, ms }
]
