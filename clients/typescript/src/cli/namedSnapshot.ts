/** A snapshot by its id, or by its name if only one that is not deleted has it. */
import type { Atoll } from "../Atoll.ts"
import type { SnapshotStatus } from "../generated/schemas.ts"
import type { Snapshot } from "../Snapshots.ts"
import { namedCopy } from "./namedCopy.ts"

const there: ReadonlyArray<SnapshotStatus> = ["creating", "ready", "failed"]
/** All but the deleted ones. */
export const kept: ReadonlyArray<SnapshotStatus> = [...there, "deleting"]

export const namedSnapshot = ({ snapshots }: Atoll, nameOrId: string): Promise<Snapshot> =>
  namedCopy(
    {
      ...{ noun: "snapshot", plural: "snapshots", idForm: /^snp_[0-9a-hjkmnp-tv-z]{26}$/, there },
      get: (id: string) => snapshots.get(id),
      list: (options: { readonly status: ReadonlyArray<SnapshotStatus> }) => snapshots.list(options)
    },
    nameOrId
  )
