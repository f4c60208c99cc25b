/** A Sandbox by its id, or by its name if only one Sandbox that is not deleted has it. */
import type { Atoll } from "../Atoll.ts"
import { AtollError } from "../errors.ts"
import type { SandboxStatus } from "../generated/schemas.ts"
import type { Sandbox } from "../Sandbox.ts"
import { Refused } from "./failure.ts"

/** All but the deleted ones, and those that a limit refused. */
export const present: ReadonlyArray<SandboxStatus> = [
  "pending",
  "running",
  "stopping",
  "restoring",
  "stopped",
  "sleeping",
  "deleting",
  "failed"
]

const idForm = /^sbx_[0-9a-hjkmnp-tv-z]{26}$/

const absent = (nameOrId: string, cause?: unknown) =>
  new Refused(
    `There is no Sandbox ${JSON.stringify(nameOrId)}. \`atoll sandbox list\` shows the account's Sandboxes.`,
    null,
    cause
  )

export const namedSandbox = async (atoll: Atoll, nameOrId: string): Promise<Sandbox> => {
  if (idForm.test(nameOrId)) {
    return atoll.sandboxes.get(nameOrId).catch((thrown: unknown) => {
      throw thrown instanceof AtollError && thrown.is("NOT_FOUND") ? absent(nameOrId, thrown) : thrown
    })
  }
  const found: Array<Sandbox> = []
  for await (const sandbox of atoll.sandboxes.list({ status: present.filter((status) => status !== "deleting") })) {
    if (sandbox.record.name === nameOrId) found.push(sandbox)
  }
  const [one, ...others] = found
  if (one === undefined) throw absent(nameOrId)
  if (others.length > 0) {
    const ids = found.map(({ id }) => id).join(", ")
    throw new Refused(
      `${found.length} Sandboxes have the name ${JSON.stringify(nameOrId)}. Say which, by its id: ${ids}`
    )
  }
  return one
}
