/** What snapshots, and the Sandboxes that are made of them, must never do. As in `cases.ts`. */
import type { Case } from "./cases.ts"
import { create, log, lost, remove, running, stop, write } from "./rows.ts"
import {
  child,
  childRead,
  childRefused,
  fork,
  snap,
  snapDelete,
  snapGet,
  snapPatch,
  snapPatchRefused,
  snapRefused
} from "./snapshotRows.ts"

const taken = [...running, write("one"), snap("creating")]
const ready = [...taken, snapGet("ready")]
const copied = [...ready, write("two"), child("c", "sbx_2")]

export const snapshotCases: ReadonlyArray<Case> = [
  ["a snapshot does not go back", ready, snapGet("ready"), snapGet("creating")],
  ["a key takes one snapshot", taken, snap("creating"), snap("creating", { fixed: "t" })],
  [
    "a stopped Sandbox is captured",
    [...running, stop()],
    snap("creating"),
    snapRefused("SANDBOX_NOT_CAPTURABLE", "stopped")
  ],
  ["a snapshot fails only without a volume", taken, snapGet("ready"), snapGet("failed")],
  [
    "a Sandbox that was stopped in its first boot may have no volume yet",
    [create(), stop(), snap("creating"), snapGet("failed")],
    log("pending", "stopping", "stopped"),
    log("pending", "running", "stopping", "stopped")
  ],
  ["a snapshot outlives its Sandbox", [...ready, remove], snapGet("ready"), snapGet("deleted")],
  [
    "a change of a snapshot that was answered stays",
    [...ready, snapPatch("x")],
    snapGet("ready", "x"),
    snapGet("ready")
  ],
  [
    "a lost change of a snapshot may take effect",
    [...ready, lost(snapPatch("x"))],
    snapGet("ready", "x"),
    snapGet("ready", "y")
  ],
  ["a deletion of a snapshot is final", [...ready, snapDelete], snapGet("deleted"), snapGet("ready")],
  [
    "a deletion of a snapshot may be repeated",
    [...ready, snapDelete, snapDelete],
    snapGet("deleted"),
    snapGet("deleting")
  ],
  [
    "a deleted snapshot takes no change",
    [...ready, snapDelete],
    snapPatchRefused("NOT_FOUND"),
    snapPatchRefused("SNAPSHOT_NOT_READY", "deleting")
  ],
  ["only a ready snapshot makes Sandboxes", [...ready, snapDelete], childRefused("deleted"), child("c", "sbx_2")],
  ["a key makes one Sandbox of a snapshot", copied, child("c", "sbx_2"), child("c", "sbx_3")],
  ["a Sandbox of a snapshot has the files of then", copied, childRead("c", "one"), childRead("c", "two")],
  ["its files are whole", copied, childRead("c", "one"), childRead("c", null)],
  [
    "a snapshot has the files of one moment",
    [...taken, write("two"), snapGet("ready"), child("c", "sbx_2"), childRead("c", "two")],
    childRead("c", "two"),
    childRead("c", "one")
  ],
  [
    "a snapshot has no files of before its request",
    [...copied, childRead("c", "one")],
    childRead("c", "one"),
    childRead("c", null)
  ],
  [
    "a Sandbox of a snapshot outlives it",
    [...copied, snapDelete, remove],
    childRead("c", "one"),
    childRead("c", "two")
  ],
  [
    "a lost snapshot may have been taken",
    [...running, write("one"), lost(snap("creating")), write("two"), snap("ready"), child("c", "sbx_2")],
    childRead("c", "one"),
    childRead("c", null)
  ],
  [
    "a key forks once",
    [...running, fork("creating", "sbx_2", "sbx_3")],
    fork("ready", "sbx_2", "sbx_3"),
    fork("ready", "sbx_2", "sbx_4")
  ],
  [
    "forks have the same files",
    [...running, write("one"), fork("creating", "sbx_2", "sbx_3"), write("two"), childRead("s/0", "one")],
    childRead("s/1", "one"),
    childRead("s/1", "two")
  ]
]
