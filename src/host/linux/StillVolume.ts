import { stat } from "node:fs/promises"

/** A volume without writers, held for a process that reads its image. */
export interface StillVolume {
  /** True when no write reached the volume since it was held. */
  readonly isStill: () => Promise<boolean>
  /** Releases the volume: writers that wait continue. */
  readonly letGo: () => Promise<void>
}

/** The time of the last write: the modification time of the image, in nanoseconds since the epoch. */
export const writtenAt = async (image: string): Promise<bigint> => (await stat(image, { bigint: true })).mtimeNs
