/** The calls of the contract as HTTP requests, and their answers in the contract's words. */
import type { Answer, CommandSeen, Does, SandboxSeen } from "../../proofs/linear/calls.ts"
import type { Life } from "./Life.ts"

export interface Request {
  readonly method: string
  readonly path: string
  readonly key?: string
  readonly json?: unknown
  readonly bytes?: string
}

const root = "/workspace/"
const waitSeconds = 0.3
const logMax = 1000

/** A command that ends does so after a moment, so that it is seen running at times. */
const argvOf = (by: string, ends: number | null) => [
  "sh",
  "-c",
  ends === null ? "sleep 1000" : `sleep 0.0${ends % 10}; exit ${ends}`,
  by
]

export const requestOf = (does: Does, life: Life, workspaceId: string): Request => {
  if (does.type === "create") {
    const metadata = { life: life.key, label: "" }
    const json = { workspaceId, name: does.name, networkEnabled: false, metadata }
    return { method: "POST", path: "/sandboxes", key: life.key, json }
  }
  if (does.type === "list") return { method: "GET", path: `/sandboxes?metadata.life=${life.key}` }
  const path = `/sandboxes/${life.id}`
  if ("path" in does) return fileRequest(does, life, `${path}/files`)
  switch (does.type) {
    case "get":
      return { method: "GET", path }
    case "log":
      return { method: "GET", path: `${path}/transitions?limit=${logMax}` }
    case "patch": {
      const { name, label } = does
      const json = { ...(name === undefined ? {} : { name }), ...(label === undefined ? {} : { metadata: { label } }) }
      return { method: "PATCH", path, json }
    }
    case "start":
      return { method: "POST", path: `${path}/start`, ...(does.key === null ? {} : { key: does.key }) }
    case "stop":
      return { method: "POST", path: `${path}/stop` }
    case "delete":
      return { method: "DELETE", path }
    case "begin": {
      const { by, ends } = does.command
      return { method: "POST", path: `${path}/operations`, key: `${life.key} ${by}`, json: { argv: argvOf(by, ends) } }
    }
    case "commands":
      return { method: "GET", path: `${path}/operations?limit=${logMax}` }
    case "look":
    case "wait":
    case "cancel":
      return commandRequest(does.type, `${path}/operations/${life.commands.get(does.command.by)}`)
  }
}

const commandRequest = (type: "look" | "wait" | "cancel", path: string): Request =>
  type === "look"
    ? { method: "GET", path }
    : { method: "POST", path: `${path}/${type}`, ...(type === "wait" ? { json: { timeoutSeconds: waitSeconds } } : {}) }

const fileRequest = (does: Extract<Does, { readonly path: string }>, life: Life, files: string): Request => {
  const at = `path=${root}${does.path}`
  switch (does.type) {
    case "write":
      return { method: "PUT", path: `${files}/content?${at}`, bytes: does.text }
    case "edit": {
      const { expected, text } = does
      const json = { expectedSha256: life.digestOf(expected), oldText: expected, newText: text }
      return { method: "PATCH", path: `${files}/content?${at}`, json }
    }
    case "read":
      return { method: "GET", path: `${files}/content?${at}` }
    case "remove":
      return { method: "DELETE", path: `${files}?${at}` }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
type Body = any

const sandboxSeen = ({ id, status, generation, name, metadata }: Body): SandboxSeen => ({
  id,
  status,
  generation,
  name,
  label: metadata.label
})

const commandSeen = ({ id, argv, status, exitCode, signal, reason, finishedAt }: Body): CommandSeen => ({
  by: argv.at(-1),
  id,
  status,
  exitCode,
  result: [status, exitCode, signal, reason?.code ?? null, finishedAt].join(" ")
})

interface Step {
  readonly from: string | null
  readonly to: string
  readonly event: { readonly type: string }
}

/** Null: the answer says that the outcome is unknown. */
export const answerOf = (does: Does, life: Life, status: number, text: string, ms: number): Answer | null => {
  if (status === 204) return { is: "done", ms }
  if (does.type === "read" && status === 200) return { is: "text", text, ms }
  const body: Body = JSON.parse(text)
  if (status >= 400) {
    const { code, details } = body
    if (details?.outcome === "unknown") return null
    const actual = details?.actualSha256 === undefined ? {} : { actual: life.textOf(details.actualSha256) }
    return { is: "refused", code, status: details?.status ?? null, ...actual, ms }
  }
  if (does.type === "edit") return { is: "done", ms }
  if (does.type === "log") {
    const steps: ReadonlyArray<Step> = body.transitions
    const statuses = steps.filter(({ from, to }) => from !== to).map(({ to }) => to)
    return { is: "log", statuses, changes: steps.filter(({ event }) => event.type === "CHANGED").length, ms }
  }
  if (body.sandbox !== undefined) return { is: "sandbox", http: status, sandbox: sandboxSeen(body.sandbox), ms }
  if (body.sandboxes !== undefined) return { is: "sandboxes", sandboxes: body.sandboxes.map(sandboxSeen), ms }
  if (body.operation !== undefined) return { is: "command", command: commandSeen(body.operation), ms }
  return { is: "commands", commands: body.operations.map(commandSeen), ms }
}
