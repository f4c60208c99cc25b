/** A workspace by its id or its name. */
import type { Atoll } from "../Atoll.ts"
import type { Workspace } from "../generated/schemas.ts"
import { Refused } from "./failure.ts"

export const namedWorkspace = async (atoll: Atoll, nameOrId: string): Promise<Workspace> => {
  const all = await atoll.workspaces.list()
  const found = all.find(({ id }) => id === nameOrId) ?? null
  const named = all.filter(({ name }) => name === nameOrId)
  if (found !== null) return found
  if (named.length === 1) return named[0]!
  const known = all.map(({ id, name }) => `${id} (${name})`).join(", ")
  throw new Refused(
    named.length === 0
      ? `There is no workspace ${JSON.stringify(nameOrId)}. There ${all.length === 1 ? "is" : "are"}: ${known || "none"}.`
      : `${named.length} workspaces have the name ${JSON.stringify(nameOrId)}. Say which, by its id: ${known}`
  )
}
