/** Answers of the service in the contract's words. */
import type { Answer, CommandSeen, Does, SandboxSeen, SnapshotSeen } from "../../proofs/linear/calls.ts"
import type { Life } from "./Life.ts"
import { executeEnd } from "./requests.ts"
import { entryOf } from "./steps.ts"

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
type Body = any

/** As text: the order of fields makes no difference. */
const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, one) =>
    one !== null && typeof one === "object" && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one
  )

const sandboxSeen = ({
  id,
  status,
  statusReason,
  generation,
  name,
  metadata,
  updatedAt,
  rollback,
  ...rest
}: Body): SandboxSeen => {
  const { label, ...others } = metadata
  const { workspaceId, runtime, profile, networkEnabled, volume, envNames, createdAt } = rest
  return {
    id,
    status,
    reason: statusReason?.code ?? null,
    generation,
    name,
    label,
    changedAt: updatedAt,
    rollback: rollback?.outcome ?? null,
    fixed: sorted([id, workspaceId, runtime, profile, networkEnabled, volume, envNames, createdAt, others])
  }
}

const snapshotSeen = ({ id, status, name, sandboxId, workspaceId, ...rest }: Body): SnapshotSeen => {
  const { sandboxRevision, generation, runtime, profile, networkEnabled, metadata, createdAt, expiresAt } = rest
  const copied = [sandboxRevision, generation, runtime, profile, networkEnabled, metadata]
  return { id, status, name, fixed: sorted([id, sandboxId, workspaceId, ...copied, createdAt, expiresAt]) }
}

const commandSeen = ({ id, sandboxId, argv, cwd, status, exitCode, signal, reason, ...at }: Body): CommandSeen => ({
  by: argv.at(-1),
  id,
  status,
  exitCode,
  reason: reason?.code ?? null,
  result: [status, exitCode, signal, reason?.code ?? null, at.finishedAt].join(" "),
  fixed: JSON.stringify([id, sandboxId, argv, cwd, at.createdAt])
})

/** A file's text, and that all of the output behind it has come. */
const ranText = (stdout: string): string | null => {
  const text = stdout.endsWith(executeEnd) ? stdout.slice(0, -executeEnd.length) : `cut after ${stdout.length} bytes`
  return text === "" ? null : text
}

const refusal = ({ code, details }: Body, life: Life, ms: number): Answer | null => {
  if (details?.outcome === "unknown") return null
  const actual = details?.actualSha256 === undefined ? {} : { actual: life.textOf(details.actualSha256) }
  return { is: "refused", code, status: details?.status ?? null, ...actual, ms }
}

/** Null: the answer says that the outcome is unknown. */
export const answerOf = (does: Does, life: Life, status: number, text: string, ms: number): Answer | null => {
  if (status === 204) return { is: "done", ms }
  if ((does.type === "read" || does.type === "childRead") && status === 200) return { is: "text", text, ms }
  const body: Body = JSON.parse(text)
  if (does.type === "childRead" && body.code === "NOT_FOUND") return { is: "text", text: null, ms }
  if (status >= 400) return refusal(body, life, ms)
  switch (does.type) {
    case "edit":
      return { is: "done", ms }
    case "log":
      life.noteRows(body.transitions)
      return { is: "log", entries: body.transitions.map(entryOf).filter((entry: string | null) => entry !== null), ms }
    case "output":
      return { is: "output", text: Buffer.from(body.data, "base64").toString(), eof: body.eof, ms }
    case "execute":
      return { is: "ran", exitCode: body.result.exitCode, text: ranText(body.result.stdout), ms }
    case "open":
    case "lookUp":
      return { is: "preview", id: body.preview.id, port: body.preview.port, ms }
    case "child":
      return { is: "children", snapshot: null, ids: [body.sandbox.id], isWhole: true, ms }
    case "fork": {
      const ids = body.sandboxes.map(({ id }: Body) => id)
      return { is: "children", snapshot: snapshotSeen(body.snapshot), ids, isWhole: body.refused.length === 0, ms }
    }
    case "rollback":
      return { is: "rolledBack", sandbox: sandboxSeen(body.sandbox), kept: snapshotSeen(body.kept), ms }
    case "previews": {
      const active = body.previews.filter((one: Body) => one.status === "active").map((one: Body) => one.port)
      return { is: "previews", active, ms }
    }
  }
  if (body.sandbox !== undefined) return { is: "sandbox", http: status, sandbox: sandboxSeen(body.sandbox), ms }
  if (body.snapshot !== undefined) return { is: "snapshot", snapshot: snapshotSeen(body.snapshot), ms }
  if (body.sandboxes !== undefined) {
    // Sandboxes of its snapshots have its metadata.
    const own = body.sandboxes.filter(({ snapshotId }: Body) => snapshotId === null)
    return { is: "sandboxes", sandboxes: own.map(sandboxSeen), ms }
  }
  if (body.operation !== undefined) return { is: "command", command: commandSeen(body.operation), ms }
  return { is: "commands", commands: body.operations.map(commandSeen), ms }
}
