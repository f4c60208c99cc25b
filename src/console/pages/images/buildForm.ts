/** The request of the form that builds an image. */
import { pairsOf } from "../sandboxes/pairs.ts"
import { readAll } from "../ui/fieldFaults.ts"

/** Throws the mistakes of its fields. */
export const buildOf = (data: FormData) => {
  const text = (name: string) => String(data.get(name) ?? "")
  const trimmed = (name: string) => text(name).trim() || null
  const { buildArgs } = readAll({
    buildArgs: () => Object.fromEntries(pairsOf("Build arguments", text("buildArgs")))
  })
  return {
    name: trimmed("name"),
    // Forms send CRLF.
    dockerfile: text("dockerfile").replaceAll("\r\n", "\n"),
    contextSnapshotId: trimmed("contextSnapshotId"),
    target: trimmed("target"),
    buildArgs: Object.keys(buildArgs).length === 0 ? null : buildArgs
  }
}
