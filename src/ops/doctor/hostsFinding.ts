/** Finds what only a host has that is drained or lost. */
import { Effect } from "effect"
import { onlyHere } from "../../../machines/hostRemoval.ts"
import { Hosts, onlyHereOf } from "../../fleet/Hosts.ts"
import { type Finding, fine, limited } from "./Finding.ts"

const name = "hosts"
/** The finding names at most so many. */
const namedMax = 8

/** Null: the database does not tell, for example one that this version has not migrated yet. */
export const hostsFinding: Effect.Effect<Finding | null, never, Hosts> = Effect.gen(function* () {
  const hosts = yield* (yield* Hosts).list
  const found = hosts.flatMap((host) => {
    const sentences = onlyHere(onlyHereOf(host))
    return sentences.length === 0 ? [] : [`${host.id} (${host.state}): ${sentences.join(" ")}`]
  })
  if (found.length === 0) return fine(name, "No host that is drained or lost has something that no other host has.")
  const more = found.length > namedMax ? ` And ${found.length - namedMax} more hosts.` : ""
  return limited(
    name,
    `${found.slice(0, namedMax).join(" ")}${more}`,
    "Keep drained hosts running until atoll hosts list names nothing that is only there, and bring lost ones back."
  )
}).pipe(Effect.catchCause(() => Effect.succeed(null)))
