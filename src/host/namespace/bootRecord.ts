/** What is recorded of a Sandbox before it boots. */
import type { SandboxSpec } from "../../runtime/Runtime.ts"
import type { StoredSnapshot } from "../linux/SnapshotStore.ts"
import type { SandboxRecord } from "./SandboxState.ts"
import { copiedFrom } from "./VolumeSnapshots.ts"

export interface BootOrigins {
  readonly uid: number | null
  /** The digest of the image that is its root; null: its root is the host's. */
  readonly image: string | null
  /** The snapshot with which its volume begins; null: the volume is there already, or starts empty. */
  readonly origin: StoredSnapshot | null
}

/** @param known What was recorded before; null: it is new. */
export const bootRecord = (
  spec: SandboxSpec,
  known: SandboxRecord | null,
  { uid, image, origin }: BootOrigins
): SandboxRecord => {
  const { image: _, ...kept } = known ?? {}
  return {
    ...kept,
    uid,
    // A volume never shrinks, and a rollback may have made it larger.
    volumeBytes: Math.max(spec.volumeBytes, origin?.sizeBytes ?? 0, known?.volumeBytes ?? 0),
    ...(image === null ? {} : { image }),
    ...(spec.builder === undefined ? {} : { builder: spec.builder }),
    ...(origin === null ? {} : copiedFrom(origin))
  }
}
