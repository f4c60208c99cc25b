/** A snapshot by its id, or by its name if only one that is not deleted has it. */
import type { Atoll } from "../Atoll.ts"
import { AtollError } from "../errors.ts"
import type { SnapshotStatus } from "../generated/schemas.ts"
import type { Snapshot } from "../Snapshots.ts"
import { Refused } from "./failure.ts"

/** All but the deleted ones. */
export const kept: ReadonlyArray<SnapshotStatus> = ["creating", "ready", "failed", "deleting"]

const idForm = /^snp_[0-9a-hjkmnp-tv-z]{26}$/

const absent = (nameOrId: string, cause?: unknown) =>
  new Refused(
    `There is no snapshot ${JSON.stringify(nameOrId)}. \`atoll snapshots list\` shows the account's snapshots.`,
    null,
    cause
  )

export const namedSnapshot = async (atoll: Atoll, nameOrId: string): Promise<Snapshot> => {
  if (idForm.test(nameOrId)) {
    return atoll.snapshots.get(nameOrId).catch((thrown: unknown) => {
      throw thrown instanceof AtollError && thrown.is("NOT_FOUND") ? absent(nameOrId, thrown) : thrown
    })
  }
  const found: Array<Snapshot> = []
  for await (const snapshot of atoll.snapshots.list({ status: kept.filter((status) => status !== "deleting") })) {
    if (snapshot.record.name === nameOrId) found.push(snapshot)
  }
  const [one, ...others] = found
  if (one === undefined) throw absent(nameOrId)
  if (others.length > 0) {
    const ids = found.map(({ id }) => id).join(", ")
    throw new Refused(
      `${found.length} snapshots have the name ${JSON.stringify(nameOrId)}. Say which, by its id: ${ids}`
    )
  }
  return one
}
