/** A fork at the revision that the slider shows, from the newest snapshot at or before it. */
import { useState } from "preact/hooks"
import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import type { Snapshot } from "../../../../schemas/SnapshotRecord.ts"
import { ForkSandbox } from "../snapshots/ForkSandbox.tsx"

interface Shown {
  readonly sandbox: Sandbox
  readonly revision: number
  /** Those that are ready. */
  readonly snapshots: ReadonlyArray<Snapshot>
}

const newestUpTo = (snapshots: ReadonlyArray<Snapshot>, revision: number): Snapshot | null =>
  snapshots
    .filter(({ sandboxRevision }) => sandboxRevision <= revision)
    .toSorted(
      (one, other) => other.sandboxRevision - one.sandboxRevision || (one.createdAt < other.createdAt ? 1 : -1)
    )[0] ?? null

export const ForkFromHere = ({ sandbox, revision, snapshots }: Shown) => {
  const [at, setAt] = useState<number | null>(null)
  const source = newestUpTo(snapshots, revision)
  const later = source === null ? 0 : revision - source.sandboxRevision
  return (
    <div class="buttons">
      <button type="button" class="button small" disabled={source === null} onClick={() => setAt(revision)}>
        Fork from here
      </button>
      <span class="soft break">
        {source === null
          ? "No snapshot that is ready was taken up to here."
          : `By the snapshot ${source.name ?? source.id} of revision ${source.sandboxRevision}${
              later === 0 ? "." : `, without the ${later === 1 ? "transition" : `${later} transitions`} since.`
            }`}
      </span>
      {at === null ? null : <ForkSandbox sandbox={sandbox} atRevision={at} close={() => setAt(null)} done={() => {}} />}
    </div>
  )
}
