/** What a Sandbox must never do: a name, the calls before the last one, a last call that is right, and one that is wrong. */
import {
  archived,
  begunAs,
  close,
  command,
  commands,
  create,
  edit,
  execute,
  get,
  list,
  listen,
  log,
  lookUp,
  lost,
  open,
  output,
  outputIs,
  patch,
  previews,
  type Row,
  read,
  refused,
  remove,
  removeFile,
  running,
  start,
  stop,
  stopRefused,
  told,
  toldTo,
  visit,
  write
} from "./rows.ts"

export type Case = readonly [name: string, before: ReadonlyArray<Row>, right: Row, wrong: Row]

const hangs = "1-hangs"
const exits = "1-exits-7"
/** Of "1-exits-7 begins\n", and of all that it writes. */
const half = 17
const all = 32

const ofSandbox: ReadonlyArray<Case> = [
  ["a status does not go back", running, get("running"), get("pending")],
  ["a change that was answered stays", [...running, patch("x")], get("running", { label: "x" }), get("running")],
  ["one key makes one Sandbox", [create()], create(), create({ fixed: "g" })],
  [
    "one key starts it once",
    [...running, stop(), start("s", { generation: 2 }), stop("stopped", { generation: 2 })],
    start("s", { generation: 2 }, "stopped"),
    start("s", { generation: 3 })
  ],
  ["a deletion is final", [...running, remove], get("deleted"), get("running")],
  ["a stop that is answered has stopped it", running, stop(), stop("stopping")],
  ["the instant of a status does not change", running, get("running"), get("running", { changedAt: "later" })],
  ["a list has what was made", [create()], list("pending"), list()],
  ["what was refused has no effect", [...running, stopRefused("SERVICE_UNAVAILABLE")], get("running"), get("stopping")],
  ["no runtime ends by itself", running, get("running"), get("stopped", { reason: "HOST_LOST" })],
  ["a lost change may take effect later", [...running, lost(stop())], get("stopped"), get("failed")]
]

const ofCommands: ReadonlyArray<Case> = [
  [
    "a cancel is final",
    [...begunAs(hangs), command("cancel", hangs, "cancelled")],
    command("look", hangs, "cancelled"),
    command("look", hangs, "running")
  ],
  [
    "a result does not change",
    [...begunAs(exits), command("look", exits, "completed")],
    command("cancel", exits, "completed"),
    command("cancel", exits, "cancelled")
  ],
  [
    "nothing but a stop fails a command",
    begunAs(hangs),
    command("look", hangs, "running"),
    command("look", hangs, "failed")
  ],
  [
    "a command fails for the reason for which its Sandbox's runtime ended",
    [...begunAs(hangs), stop()],
    command("look", hangs, "failed"),
    command("look", hangs, "failed", { reason: "SANDBOX_DELETED" })
  ],
  [
    "a stop that is answered has ended the commands",
    [...begunAs(hangs), stop()],
    command("look", hangs, "failed"),
    command("look", hangs, "running")
  ],
  [
    "one key begins one command",
    begunAs(hangs),
    command("begin", hangs, "running"),
    command("begin", hangs, "queued", { id: "op_2" })
  ],
  [
    "a lost command that a list has shown stays",
    [...running, lost(command("begin", hangs, "queued")), commands([hangs, "running"])],
    commands([hangs, "running"]),
    commands()
  ],
  [
    "a lost cancel may be what ended a command",
    [...begunAs(hangs), lost(command("cancel", hangs, "cancelled"))],
    command("look", hangs, "cancelled"),
    command("look", hangs, "failed")
  ],
  [
    "a lost cancel may be what ended the output",
    [...begunAs(hangs), lost(command("cancel", hangs, "cancelled"))],
    output("output", hangs, half, true),
    command("look", hangs, "failed")
  ],
  [
    "output that was read stays",
    [...begunAs(exits), output("output", exits, half, false)],
    output("output", exits, half, false),
    output("output", exits, 3, false)
  ],
  [
    "nothing follows the end of output",
    [...begunAs(exits), output("follow", exits, all, true)],
    output("output", exits, all, true),
    output("output", exits, all, false)
  ],
  [
    "output has not ended while its command goes on",
    begunAs(hangs),
    output("output", hangs, half, false),
    output("output", hangs, half, true)
  ],
  [
    "a command that is completed has all of its output stored",
    [...begunAs(exits), command("look", exits, "completed")],
    output("output", exits, all, true),
    output("output", exits, half, true)
  ],
  [
    "output is what its program writes",
    begunAs(exits),
    outputIs(exits, "1-exits-7 begins\n"),
    outputIs(exits, "1-exits-7 ends\n")
  ],
  [
    "a follower may be behind, but not be told what is not there",
    [...begunAs(exits), output("output", exits, half, false)],
    output("follow", exits, 3, false),
    output("follow", exits, 3, true)
  ]
]

const ofFiles: ReadonlyArray<Case> = [
  [
    "of two edits of one text the second is refused",
    [...running, write("one"), edit("one", "two")],
    edit("one", "three", refused("PRECONDITION_FAILED", null, "two")),
    edit("one", "three")
  ],
  [
    "files stay while it is stopped",
    [...running, write("one"), stop(), start(null, { generation: 2 })],
    read("one"),
    read(null)
  ],
  ["a lost write may be read", [...running, write("one"), lost(write("two"))], read("two"), read("three")],
  ["a lost write may be what was removed", [...running, lost(write("one")), removeFile], read(null), read("one")],
  [
    "an archive has files as they are, and not as one was before",
    [...running, write("one", "a"), write("two", "b"), write("three", "a"), archived("a", "three")],
    archived("b", "two"),
    archived("a", "one")
  ],
  [
    "an archive has no file that is removed",
    [...running, write("one"), removeFile],
    archived("a", null),
    archived("a", "one")
  ],
  ["an execute sees what was written", [...running, write("one")], execute("one", 7), execute(null, 7)],
  ["an execute's output is whole", [...running, write("one")], execute("one", 0), execute("cut after 9 bytes", 0)],
  ["an execute has its program's exit code", running, execute(null, 7), execute(null, 0, 7)]
]

const opened = [...running, open("p", 8000, "p1")]
const ofPreviews: ReadonlyArray<Case> = [
  ["a preview that is open is served", opened, visit("p1", "reached"), visit("p1", "unknown")],
  [
    "a preview that is closed is served no more",
    [...opened, close("p1")],
    visit("p1", "unknown"),
    visit("p1", "reached")
  ],
  [
    "no preview leads into a later runtime",
    [...opened, stop(), start(null, { generation: 2 })],
    visit("p1", "unknown"),
    visit("p1", "reached")
  ],
  ["a Sandbox has one preview", opened, open("q", 8001, refused("PREVIEW_EXISTS")), open("q", 8001, "p2")],
  ["or one a port", opened, open("q", 8001, "p2", true), open("q", 8000, "p2", true)],
  [
    "nothing keeps a first preview from being opened",
    running,
    open("p", 8000, "p1"),
    open("p", 8000, refused("PREVIEW_EXISTS"))
  ],
  [
    "a closed preview makes room",
    [...opened, close("p1")],
    open("q", 8000, "p2"),
    open("q", 8000, refused("PREVIEW_EXISTS"))
  ],
  ["an open preview is found again", opened, lookUp(8000, "p1"), lookUp(8000, null)],
  ["with its own id", opened, lookUp(8000, "p1"), lookUp(8000, "p2")],
  ["a list has what is open", opened, previews(8000), previews()],
  ["and not what is closed", [...opened, close("p1")], previews(), previews(8000)],
  [
    "a lost open may have opened a preview",
    [...running, lost(open("p", 8000, "p1"))],
    lookUp(8000, "p1"),
    open("q", 8000, refused("NETWORK_DISABLED"))
  ]
]

const logged = ["pending", "running", "label=x"]
const ofLog: ReadonlyArray<Case> = [
  ["the log has what was answered", [...running, patch("x")], log(...logged), log("pending", "running")],
  [
    "the log has changes in their order",
    [...running, patch("x"), patch("y")],
    log(...logged, "label=y"),
    log("pending", "running", "label=y", "label=x")
  ],
  ["a stream misses nothing from when it is opened", [...running, patch("x")], listen(2), listen(4)],
  [
    "a stream skips nothing",
    [...running, patch("x"), patch("y")],
    told(1, "running", "label=x", "label=y"),
    told(1, "running", "label=y")
  ],
  [
    "a stream that goes on misses nothing",
    [...running, patch("x"), told(2, "label=x"), patch("y")],
    told(3, "label=y"),
    told(3, "label=x")
  ],
  [
    "a stream tells all of the log",
    [...running, patch("x"), patch("y")],
    toldTo("end", 2, "label=x", "label=y"),
    toldTo("end", 2, "label=x")
  ],
  ["a stream tells nothing that is not committed", running, told(1, "running"), told(1, "running", "label=x")]
]

export const cases: ReadonlyArray<Case> = [...ofSandbox, ...ofCommands, ...ofFiles, ...ofPreviews, ...ofLog]
