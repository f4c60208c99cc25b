/** Checks what a copy of a namespace Sandbox's volume costs on this host. */
import type { SettingsShape } from "../../Config.ts"
import { existingPool, pooledFolder, poolObstacle } from "../../host/linux/volumePool.ts"
import { type Finding, fine, limited } from "./Finding.ts"

type PoolSettings = Pick<SettingsShape, "dataDir" | "volumePool">

/** Whether there is a pool, or the first start makes one. */
export const sharesInPool = async (settings: PoolSettings): Promise<boolean> => {
  const folder = pooledFolder(settings.dataDir)
  return existingPool(folder) !== null || (await poolObstacle(folder, settings.volumePool)) === null
}

export const poolFinding = async (settings: PoolSettings): Promise<Finding> => {
  const folder = pooledFolder(settings.dataDir)
  const found = (text: string) => fine("volume pool", text)
  if (existingPool(folder) !== null) return found("Volumes are in an XFS pool: a copy of one shares its blocks.")
  const obstacle = await poolObstacle(folder, settings.volumePool)
  if (obstacle === null) return found("The first start makes an XFS pool: a copy of a volume shares its blocks.")
  return obstacle.mend === null
    ? found(`Volumes need no pool: ${obstacle.why}.`)
    : limited("volume pool", `A copy of a volume takes the time and room of its data: ${obstacle.why}.`, obstacle.mend)
}
