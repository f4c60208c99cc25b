/** The contract refuses what a Sandbox must never do: each history is right but for one answer. */
import { assert, describe, it } from "vitest"
import { linearize } from "../../../../src/proofs/linear/linearize.ts"
import type { History } from "../../../../src/proofs/linear/Model.ts"
import { type Answer, commandOf, type Does, type SandboxSeen } from "../../../proofs/linear/calls.ts"
import { contract } from "../../../proofs/linear/contract.ts"

const sandbox = "k"
const ms = 1
type Row = readonly [does: Does, answer: Answer | null]

const made: SandboxSeen = { id: "sbx_1", status: "pending", generation: 1, name: "n", label: "" }
const saw = (status: string, more: Partial<SandboxSeen> = {}, http = 200): Answer => ({
  is: "sandbox",
  http,
  sandbox: { ...made, status, ...more },
  ms
})
const ran = (by: string, status: string, exitCode: number | null = null, id = "op_1"): Answer => ({
  is: "command",
  command: { by, id, status, exitCode, result: `${status} ${exitCode}` },
  ms
})
const done: Answer = { is: "done", ms }
const refused = (code: string, status: string | null = null): Answer => ({ is: "refused", code, status, ms })

const create: Row = [{ sandbox, type: "create", name: "n" }, saw("pending", {}, 202)]
const get = (status: string, more: Partial<SandboxSeen> = {}): Row => [{ sandbox, type: "get" }, saw(status, more)]
const stop: Row = [{ sandbox, type: "stop" }, saw("stopped")]
const start = (key: string | null, more: Partial<SandboxSeen>, status = "running"): Row => [
  { sandbox, type: "start", key },
  saw(status, more, 201)
]
const patch = (label: string, more: Partial<SandboxSeen> = {}): Row => [
  { sandbox, type: "patch", label },
  saw("running", { label, ...more })
]
const command = (type: "begin" | "look" | "cancel", by: string, answer: Answer): Row => [
  { sandbox, type, command: commandOf(by) },
  answer
]
const edit = (expected: string, text: string, answer: Answer): Row => [
  { sandbox, type: "edit", path: "a", expected, text },
  answer
]
const write: Row = [{ sandbox, type: "write", path: "a", text: "one" }, done]
const read = (text: string): Row => [
  { sandbox, type: "read", path: "a" },
  { is: "text", text, ms }
]
const remove: Row = [{ sandbox, type: "delete" }, done]
const begun = [create, get("running"), command("begin", "1-hangs", ran("1-hangs", "queued"))]

/** One call after the other. */
const inTurn = (rows: ReadonlyArray<Row>): History<Does, Answer> =>
  rows.map(([does, answer], place) => ({
    client: "c",
    does,
    invokedAt: place * 10,
    answered: answer === null ? null : { at: place * 10 + 5, answer }
  }))

/** Its name, the calls before the last one, a last call that is right, and one that is wrong. */
const cases: ReadonlyArray<readonly [string, ReadonlyArray<Row>, Row, Row]> = [
  ["a status does not go back", [create, get("running")], get("running"), get("pending")],
  [
    "a change that was answered stays",
    [create, get("running"), patch("x")],
    get("running", { label: "x" }),
    get("running")
  ],
  ["one key makes one Sandbox", [create], create, [create[0], saw("pending", { id: "sbx_2" }, 202)]],
  [
    "one key starts it once",
    [create, get("running"), stop, start("s", { generation: 2 }), [stop[0], saw("stopped", { generation: 2 })]],
    start("s", { generation: 2 }, "stopped"),
    start("s", { generation: 3 })
  ],
  ["a deletion is final", [create, get("running"), remove], get("deleted"), get("running")],
  ["a stop that is answered has stopped it", [create, get("running")], stop, [stop[0], saw("stopping")]],
  [
    "a cancel is final",
    [...begun, command("cancel", "1-hangs", ran("1-hangs", "cancelled"))],
    command("look", "1-hangs", ran("1-hangs", "cancelled")),
    command("look", "1-hangs", ran("1-hangs", "running"))
  ],
  [
    "a result does not change",
    [
      create,
      get("running"),
      command("begin", "1-exits-7", ran("1-exits-7", "queued")),
      command("look", "1-exits-7", ran("1-exits-7", "completed", 7))
    ],
    command("cancel", "1-exits-7", ran("1-exits-7", "completed", 7)),
    command("cancel", "1-exits-7", ran("1-exits-7", "cancelled"))
  ],
  [
    "nothing but a stop fails a command",
    begun,
    command("look", "1-hangs", ran("1-hangs", "running")),
    command("look", "1-hangs", ran("1-hangs", "failed"))
  ],
  [
    "a stop that is answered has ended the commands",
    [...begun, stop],
    command("look", "1-hangs", ran("1-hangs", "failed")),
    command("look", "1-hangs", ran("1-hangs", "running"))
  ],
  [
    "one key begins one command",
    begun,
    command("begin", "1-hangs", ran("1-hangs", "running")),
    command("begin", "1-hangs", ran("1-hangs", "queued", null, "op_2"))
  ],
  [
    "of two edits of one text the second is refused",
    [create, get("running"), write, edit("one", "two", done)],
    edit("one", "three", { is: "refused", code: "PRECONDITION_FAILED", status: null, actual: "two", ms }),
    edit("one", "three", done)
  ],
  [
    "files stay while it is stopped",
    [create, get("running"), write, stop, start(null, { generation: 2 })],
    read("one"),
    [{ sandbox, type: "read", path: "a" }, refused("NOT_FOUND")]
  ],
  [
    "the log has what was answered",
    [create, get("running"), patch("x")],
    [
      { sandbox, type: "log" },
      { is: "log", statuses: ["pending", "running"], changes: 1, ms }
    ],
    [
      { sandbox, type: "log" },
      { is: "log", statuses: ["pending", "running"], changes: 0, ms }
    ]
  ],
  [
    "a list has what was made",
    [create],
    [
      { sandbox, type: "list" },
      { is: "sandboxes", sandboxes: [made], ms }
    ],
    [
      { sandbox, type: "list" },
      { is: "sandboxes", sandboxes: [], ms }
    ]
  ],
  [
    "what was refused has no effect",
    [create, get("running"), [{ sandbox, type: "stop" }, refused("SERVICE_UNAVAILABLE")]],
    get("running"),
    get("stopping")
  ]
]

describe("the contract", () => {
  it.each(cases)("%s", (_, before, right, wrong) => {
    assert.strictEqual(linearize(contract, inTurn([...before, right])).is, "linearizable")
    assert.strictEqual(linearize(contract, inTurn([...before, wrong])).is, "refused")
  })

  it("allows a lost change to take effect later, or never", () => {
    const lost = [create, get("running"), [{ sandbox, type: "stop" }, null] as const]
    for (const status of ["running", "stopping", "stopped"]) {
      assert.strictEqual(linearize(contract, inTurn([...lost, get(status)])).is, "linearizable")
    }
  })
})
