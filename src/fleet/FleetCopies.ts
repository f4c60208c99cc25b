/** What brings the bytes of snapshots and of uploaded images from host to host. */
import { Layer } from "effect"
import { ImageCopies } from "./ImageCopies.ts"
import { SnapshotCopies } from "./SnapshotCopies.ts"

export const FleetCopies = {
  layer: Layer.merge(SnapshotCopies.layer, ImageCopies.layer)
}
