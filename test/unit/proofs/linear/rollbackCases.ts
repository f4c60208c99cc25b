/** What rollbacks must never do. As in `cases.ts`. */
import type { Case } from "./cases.ts"
import { command, get, log, lost, read, removeFile, running, start, stop, write } from "./rows.ts"
import {
  child,
  childRead,
  keptDelete,
  keptGet,
  rollback,
  rollbackRefused,
  snap,
  snapDelete,
  snapGet
} from "./snapshotRows.ts"

const ready = [...running, write("one"), snap("creating"), snapGet("ready"), write("two")]
const asked = [...ready, rollback("stopping")]
const again = { generation: 2, rollback: "done" } as const
const rolled = [...asked, get("running", again)]
const atRest = [...ready, stop(), rollback("restoring")]

export const rollbackCases: ReadonlyArray<Case> = [
  ["a rollback gives the files of then", rolled, read("one"), read("two")],
  [
    "and none that came later",
    [...running, snap("creating"), snapGet("ready"), write("one"), rollback("stopping"), get("running", again)],
    read(null),
    read("one")
  ],
  [
    "and those that were removed",
    [...ready, removeFile, rollback("stopping"), get("running", again)],
    read("one"),
    read(null)
  ],
  [
    "a rollback keeps the volume before",
    [...rolled, child("d", "sbx_2", "r")],
    childRead("d", "two"),
    childRead("d", "one")
  ],
  ["the volume before is kept before it is replaced", rolled, keptGet("ready"), keptGet("creating")],
  ["a rollback gives a new generation", asked, get("running", again), get("running", { rollback: "done" })],
  ["also to a Sandbox that stays stopped", atRest, get("stopped", again), get("stopped", { rollback: "done" })],
  ["a Sandbox that was stopped does not boot", atRest, get("stopped", again), get("running", again)],
  [
    "unless it is started meanwhile",
    [...atRest, lost(start(null, {}))],
    get("running", again),
    get("running", { rollback: "done" })
  ],
  ["the end of a rollback stays", rolled, get("running", again), get("running", { generation: 2, rollback: "open" })],
  [
    "a key rolls back once",
    [...rolled, write("three"), rollback("running", again, "ready")],
    read("three"),
    read("one")
  ],
  [
    "only a ready snapshot is rolled back to",
    [...ready, snapDelete],
    rollbackRefused("SNAPSHOT_NOT_READY", "deleted"),
    rollback("stopping")
  ],
  [
    "a Sandbox is rolled back once at a time",
    atRest,
    rollbackRefused("SANDBOX_CANNOT_ROLL_BACK", "restoring", "q"),
    rollback("restoring", {}, "creating", "q")
  ],
  [
    "a Sandbox that runs is rolled back",
    ready,
    rollback("stopping"),
    rollbackRefused("SANDBOX_CANNOT_ROLL_BACK", "running")
  ],
  [
    "a rollback whose volume before is not kept changes nothing",
    [...asked, keptDelete, get("running", { generation: 2, rollback: "failed" })],
    read("two"),
    read("one")
  ],
  [
    "and says why",
    [...atRest, keptDelete],
    get("stopped", { rollback: "failed", reason: "NOT_KEPT" }),
    get("stopped", { rollback: "failed" })
  ],
  [
    "a rollback fails for no other reason",
    asked,
    get("running", again),
    get("running", { generation: 2, rollback: "failed" })
  ],
  [
    "a rollback ends what runs in the Sandbox",
    [...ready, command("begin", "1-hangs", "queued"), rollback("stopping"), get("running", again)],
    command("look", "1-hangs", "failed", { reason: "SANDBOX_ROLLED_BACK" }),
    command("look", "1-hangs", "failed", { reason: "SANDBOX_DELETED" })
  ],
  [
    "nothing else says that it was rolled back",
    [...running, command("begin", "1-hangs", "queued"), stop()],
    command("look", "1-hangs", "failed"),
    command("look", "1-hangs", "failed", { reason: "SANDBOX_ROLLED_BACK" })
  ],
  [
    "the log has a rollback step by step",
    rolled,
    log("pending", "running", "stopping", "restoring", "pending", "running"),
    log("pending", "running", "stopping", "stopped", "pending", "running")
  ],
  [
    "a lost rollback may take place",
    [...ready, lost(rollback("stopping"))],
    get("running", again),
    get("running", { ...again, generation: 3 })
  ]
]
