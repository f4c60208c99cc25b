/** The calls of the contract as HTTP requests. */
import { type Command, type Does, type DoesOf, outputOf } from "../../proofs/linear/calls.ts"
import type { Life } from "./Life.ts"

export interface Request {
  readonly method: string
  readonly path: string
  readonly key?: string
  readonly json?: unknown
  readonly bytes?: string
}

export const root = "/workspace/"
/** Below a preview's id, by default. */
export const previewDomain = "preview.localhost"
const waitSeconds = 0.3
const logMax = 1000
/** More than the pipes and buffers between a program and its client hold. */
const paddingBytes = 150_000
/** Behind a file's text in an execute's output. */
export const executeEnd = `${"-".repeat(paddingBytes)}END`

/** A command that ends does so after a moment, so that it is seen running at times, with some of its output. */
const argvOf = ({ by, ends }: Command) => {
  const [begins, ended] = outputOf({ by, ends }).trimEnd().split("\n")
  const rest = ends === null ? "sleep 1000" : `sleep 0.0${ends % 10}; echo "${ended}"; exit ${ends}`
  return ["sh", "-c", `echo "${begins}"; ${rest}`, by]
}

const executed = (path: string, exits: number) => [
  "sh",
  "-c",
  `cat ${root}${path} 2>/dev/null; head -c ${paddingBytes} /dev/zero | tr '\\0' -; printf END; exit ${exits}`
]

type Path = Exclude<Extract<Does, { readonly path: string }>, { readonly type: "childRead" }>
type OfSnapshot = DoesOf<"snap" | "snapGet" | "snapPatch" | "snapDelete" | "child" | "fork" | "childRead" | "rollback">
type OfCommand = DoesOf<"look" | "wait" | "cancel" | "output" | "follow">
type OfPreview = DoesOf<"open" | "lookUp" | "previews" | "close" | "closeAll">

/** Of all calls but `visit`, `listen` and `told`. */
export const requestOf = (does: Does, life: Life, workspaceId: string): Request => {
  if (does.type === "create") {
    const metadata = { life: life.key, label: "" }
    const json = { workspaceId, name: does.name, networkEnabled: does.hasNetwork, metadata }
    return { method: "POST", path: "/sandboxes", key: life.key, json }
  }
  if (does.type === "list") return { method: "GET", path: `/sandboxes?metadata.life=${life.key}` }
  const path = `/sandboxes/${life.id}`
  if (isOfSnapshot(does)) return snapshotRequest(does, life, workspaceId)
  if ("path" in does) return fileRequest(does, life, path)
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
      const { command } = does
      return {
        method: "POST",
        path: `${path}/operations`,
        key: `${life.key} ${command.by}`,
        json: { argv: argvOf(command) }
      }
    }
    case "commands":
      return { method: "GET", path: `${path}/operations?limit=${logMax}` }
    case "look":
    case "wait":
    case "cancel":
    case "output":
    case "follow":
      return commandRequest(does, `${path}/operations/${life.commands.get(does.command.by)}`)
    case "open":
    case "lookUp":
    case "previews":
    case "close":
    case "closeAll":
      return previewRequest(does, `${path}/previews`)
    case "visit":
    case "listen":
    case "told":
      throw new Error(`${does.type} is no request to the API with one answer`)
  }
}

const snapshotWords: ReadonlyArray<string> = [
  "snap",
  "snapGet",
  "snapPatch",
  "snapDelete",
  "child",
  "fork",
  "childRead",
  "rollback"
]
const isOfSnapshot = (does: Does): does is OfSnapshot => snapshotWords.includes(does.type)

const snapshotRequest = (does: OfSnapshot, life: Life, workspaceId: string): Request => {
  const key = `${life.key} ${does.by}`
  const snapshot = `/snapshots/${life.snapshots.get(does.by)}`
  switch (does.type) {
    case "snap":
      return { method: "POST", path: `/sandboxes/${life.id}/snapshots`, key, json: { name: does.name } }
    case "snapGet":
      return { method: "GET", path: snapshot }
    case "snapPatch":
      return { method: "PATCH", path: snapshot, json: { name: does.name } }
    case "snapDelete":
      return { method: "DELETE", path: snapshot }
    case "child": {
      const json = { workspaceId, name: does.by, networkEnabled: false, snapshotId: life.snapshots.get(does.of) }
      return { method: "POST", path: "/sandboxes", key, json }
    }
    case "fork":
      return { method: "POST", path: `/sandboxes/${life.id}/fork`, key, json: { count: does.count } }
    case "rollback": {
      const json = { snapshotId: life.snapshots.get(does.of) }
      return { method: "POST", path: `/sandboxes/${life.id}/rollback`, key, json }
    }
    case "childRead":
      return { method: "GET", path: `/sandboxes/${life.children.get(does.by)}/files/content?path=${root}${does.path}` }
  }
}

const commandRequest = (does: OfCommand, path: string): Request => {
  switch (does.type) {
    case "look":
      return { method: "GET", path }
    case "output":
      return { method: "GET", path: `${path}/output?stream=stdout&offset=${does.from}` }
    case "follow":
      return { method: "GET", path: `${path}/output/stream?stdoutOffset=${does.from}` }
    case "wait":
      return { method: "POST", path: `${path}/wait`, json: { timeoutSeconds: waitSeconds } }
    case "cancel":
      return { method: "POST", path: `${path}/cancel` }
  }
}

const previewRequest = (does: OfPreview, path: string): Request => {
  switch (does.type) {
    case "open":
      return { method: "POST", path, json: { port: does.port, alongside: does.alongside } }
    case "lookUp":
      return { method: "POST", path: `${path}/lookup`, json: { port: does.port } }
    case "previews":
      return { method: "GET", path }
    case "close":
      return { method: "DELETE", path: `${path}/${does.id}` }
    case "closeAll":
      return { method: "DELETE", path }
  }
}

const fileRequest = (does: Path, life: Life, sandbox: string): Request => {
  const files = `${sandbox}/files`
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
    case "archived":
      return { method: "GET", path: `${files}/archive?path=${root.slice(0, -1)}` }
    case "remove":
      return { method: "DELETE", path: `${files}?${at}` }
    case "execute":
      return { method: "POST", path: `${sandbox}/execute`, json: { argv: executed(does.path, does.exits) } }
  }
}
