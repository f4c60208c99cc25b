/** Calls of one Sandbox and their answers, written by hand. */
import type { History } from "../../../../src/proofs/linear/Model.ts"
import {
  type Answer,
  type CommandSeen,
  commandOf,
  type Does,
  type DoesOf,
  outputOf,
  type SandboxSeen
} from "../../../proofs/linear/calls.ts"

const sandbox = "k"
const ms = 1
/** Null: it was lost. */
export type Row = readonly [does: Does, answer: Answer | null]

export const done: Answer = { is: "done", ms }
export const refused = (code: string, status: string | null = null, actual?: string): Answer => ({
  is: "refused",
  code,
  status,
  ...(actual === undefined ? {} : { actual }),
  ms
})

export const shownAs = (status: string, more: Partial<SandboxSeen> = {}): SandboxSeen => ({
  ...{ id: "sbx_1", fixed: "f", generation: 1, name: "n", label: "", reason: null, rollback: null, status },
  changedAt: `${status} #${more.generation ?? 1}`,
  ...more
})
const saw = (status: string, more?: Partial<SandboxSeen>, http = 200): Answer => ({
  is: "sandbox",
  http,
  sandbox: shownAs(status, more),
  ms
})

export const create = (more?: Partial<SandboxSeen>): Row => [
  { sandbox, type: "create", name: "n", hasNetwork: true },
  saw("pending", more, 202)
]
export const get = (status: string, more?: Partial<SandboxSeen>): Row => [{ sandbox, type: "get" }, saw(status, more)]
export const list = (...statuses: ReadonlyArray<string>): Row => [
  { sandbox, type: "list" },
  { is: "sandboxes", sandboxes: statuses.map((status) => shownAs(status)), ms }
]
export const stop = (status = "stopped", more?: Partial<SandboxSeen>): Row => [
  { sandbox, type: "stop" },
  saw(status, more)
]
export const stopRefused = (code: string): Row => [{ sandbox, type: "stop" }, refused(code)]
export const start = (key: string | null, more: Partial<SandboxSeen>, status = "running"): Row => [
  { sandbox, type: "start", key },
  saw(status, more, 201)
]
export const patch = (label: string, more: Partial<SandboxSeen> = {}): Row => [
  { sandbox, type: "patch", label },
  saw("running", { label, ...more })
]
export const remove: Row = [{ sandbox, type: "delete" }, done]
export const log = (...entries: ReadonlyArray<string>): Row => [
  { sandbox, type: "log" },
  { is: "log", entries, ms }
]
export const listen = (after: number): Row => [
  { sandbox, type: "listen" },
  { is: "listens", after, ms }
]
export const told = (after: number, ...entries: ReadonlyArray<string>): Row => toldTo("now", after, ...entries)
/** @param to `end`: until nothing was left to tell. */
export const toldTo = (to: "now" | "end", after: number, ...entries: ReadonlyArray<string>): Row => [
  { sandbox, type: "told", after, toEnd: to === "end" },
  { is: "log", entries, ms }
]

const seenAs = (by: string, status: string, { id = "op_1", reason = "SANDBOX_STOPPED" } = {}): CommandSeen => {
  const { ends } = commandOf(by)
  const exitCode = status === "completed" ? ends : null
  return {
    ...{ by, id, status, exitCode, fixed: id, result: `${status} ${exitCode}` },
    reason: status === "failed" ? reason : null
  }
}
export const command = (
  type: "begin" | "look" | "cancel",
  by: string,
  status: string,
  more: { readonly id?: string; readonly reason?: string } = {}
): Row => [
  { sandbox, type, command: commandOf(by) },
  { is: "command", command: seenAs(by, status, more), ms }
]
export const commands = (...seen: ReadonlyArray<readonly [by: string, status: string]>): Row => [
  { sandbox, type: "commands" },
  { is: "commands", commands: seen.map(([by, status]) => seenAs(by, status)), ms }
]
/** @param bytes Of all that its program writes. */
export const output = (type: "output" | "follow", by: string, bytes: number, eof: boolean): Row => [
  { sandbox, type, command: commandOf(by), from: 0 },
  { is: "output", text: outputOf(commandOf(by)).slice(0, bytes), eof, ms }
]
export const outputIs = (by: string, text: string): Row => [
  { sandbox, type: "output", command: commandOf(by), from: 0 },
  { is: "output", text, eof: false, ms }
]

export const write = (text: string, path = "a"): Row => [{ sandbox, type: "write", path, text }, done]
export const edit = (expected: string, text: string, answer: Answer = done): Row => [
  { sandbox, type: "edit", path: "a", expected, text },
  answer
]
export const read = (text: string | null, path = "a"): Row => [
  { sandbox, type: "read", path },
  text === null ? refused("NOT_FOUND") : { is: "text", text, ms }
]
export const removeFile: Row = [{ sandbox, type: "remove", path: "a" }, done]
export const archived = (path: string, text: string | null): Row => [
  { sandbox, type: "archived", path },
  { is: "text", text, ms }
]
export const execute = (text: string | null, exitCode: number, exits = exitCode): Row => [
  { sandbox, type: "execute", path: "a", exits },
  { is: "ran", exitCode, text, ms }
]

export const open = (by: string, port: number, answer: string | Answer, alongside = false): Row => [
  { sandbox, type: "open", by, port, alongside },
  typeof answer === "string" ? { is: "preview", id: answer, port, ms } : answer
]
export const lookUp = (port: number, id: string | null): Row => [
  { sandbox, type: "lookUp", port },
  id === null ? refused("NOT_FOUND") : { is: "preview", id, port, ms }
]
export const previews = (...active: ReadonlyArray<number>): Row => [
  { sandbox, type: "previews" },
  { is: "previews", active, ms }
]
export const close = (id: string): Row => [{ sandbox, type: "close", id }, done]
export const visit = (id: string, how: "reached" | "unknown" | "failed"): Row => [
  { sandbox, type: "visit", id },
  { is: "visited", how, ms }
]

export const lost = ([does]: Row): Row => [does, null]

/** The statuses so far of a Sandbox that runs, and with a command. */
export const running: ReadonlyArray<Row> = [create(), get("running")]
export const begunAs = (by: string): ReadonlyArray<Row> => [...running, command("begin", by, "queued")]

const callMs = 10

/** One call after the other; `beside` go on beside them. */
export const inTurn = (
  rows: ReadonlyArray<Row>,
  beside: ReadonlyArray<{ readonly does: Does; readonly fromRow: number }> = []
): History<Does, Answer> => [
  ...rows.map(([does, answer], place) => ({
    client: "c",
    does,
    invokedAt: place * callMs,
    answered: answer === null ? null : { at: (place + 0.5) * callMs, answer }
  })),
  ...beside.map(({ does, fromRow }) => ({ client: "d", does, invokedAt: fromRow * callMs + 1, answered: null }))
]

/** Lost calls of every kind that can be lost with an effect. */
export const losable: ReadonlyArray<Does> = [
  { sandbox, type: "create", name: "n", hasNetwork: true },
  ...([null, "s"] as const).map((key): DoesOf<"start"> => ({ sandbox, type: "start", key })),
  { sandbox, type: "stop" },
  { sandbox, type: "delete" },
  { sandbox, type: "patch", label: "x" },
  { sandbox, type: "patch", label: "z" },
  ...(["begin", "cancel"] as const).flatMap((type) =>
    ["1-hangs", "1-exits-7", "9-hangs"].map((by): Does => ({ sandbox, type, command: commandOf(by) }))
  ),
  { sandbox, type: "snap", by: "s", name: "first" },
  { sandbox, type: "snapPatch", by: "s", name: "x" },
  { sandbox, type: "snapDelete", by: "s" },
  { sandbox, type: "child", by: "c", of: "s" },
  { sandbox, type: "fork", by: "s", count: 2 },
  { sandbox, type: "rollback", by: "r", of: "s" },
  { sandbox, type: "snapDelete", by: "r" },
  { sandbox, type: "write", path: "a", text: "one" },
  { sandbox, type: "write", path: "a", text: "zero" },
  { sandbox, type: "edit", path: "a", expected: "one", text: "two" },
  { sandbox, type: "edit", path: "a", expected: "zero", text: "one" },
  { sandbox, type: "remove", path: "a" },
  { sandbox, type: "open", by: "q", port: 8000, alongside: true },
  { sandbox, type: "close", id: "p1" },
  { sandbox, type: "closeAll" }
]
