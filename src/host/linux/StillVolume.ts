import { stat } from "node:fs/promises"

/** A volume to which nobody writes, for whoever reads its image. */
export interface StillVolume {
  /** Nobody has written to it since it was held. */
  readonly isStill: () => Promise<boolean>
  /** Whoever waits with a write goes on. */
  readonly letGo: () => Promise<void>
}

/** When it was written to last: the modification time of its image, in nanoseconds since the epoch. */
export const writtenAt = async (image: string): Promise<bigint> => (await stat(image, { bigint: true })).mtimeNs
