/** The requests of the form that builds an image. Both throw the mistakes of its fields. */
import { pairsOf } from "../sandboxes/pairs.ts"
import { readAll } from "../ui/fieldFaults.ts"
import { trimmed } from "./trimmed.ts"

const argsOf = (data: FormData) =>
  readAll({ buildArgs: () => pairsOf("Build arguments", String(data.get("buildArgs") ?? "")) }).buildArgs

/** Of a Dockerfile's text. */
export const buildOf = (data: FormData) => {
  const buildArgs = argsOf(data)
  return {
    name: trimmed(data, "name"),
    // Forms send CRLF.
    dockerfile: String(data.get("dockerfile") ?? "").replaceAll("\r\n", "\n"),
    contextSnapshotId: trimmed(data, "contextSnapshotId"),
    target: trimmed(data, "target"),
    buildArgs: buildArgs.length === 0 ? null : Object.fromEntries(buildArgs)
  }
}

/** Of an archive with the context: the query of the request. */
export const archiveQueryOf = (data: FormData): string => {
  const query = new URLSearchParams()
  for (const name of ["name", "dockerfile", "target"]) {
    const given = trimmed(data, name)
    if (given !== null) query.append(name, given)
  }
  for (const [name, value] of argsOf(data)) query.append("buildArg", `${name}=${value}`)
  return query.toString()
}
