/**
 * Copies the image of a mounted volume while the processes of its Sandbox stand still, which is shorter than a freeze of its file system (`volumeHold.ts`).
 * Only where the copy can share its blocks, for then it is atomic.
 *
 * @see ../linux/native/clonevolume.c
 */
import { existsSync } from "node:fs"
import { rm } from "node:fs/promises"
import { basename, dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { letRun } from "../linux/cgroupFreezer.ts"
import { hostCommand } from "../linux/hostCommand.ts"
import type { VolumePlace } from "./volume.ts"

const PROGRAM = fileURLToPath(new URL("../linux/native/clonevolume.x64", import.meta.url))

export const canCopyStanding = process.arch === "x64" && existsSync(PROGRAM)

/** A Sandbox with much unwritten data writes at the speed of the disk. */
const WITHIN_MS = 300_000
/** How the program says that nothing was copied and that all processes run. */
const REFUSALS = new Set<number | null>([3, 4])

/**
 * Makes `copy`, which does not exist. Resolves with how long the processes stood still; null: there is no copy, and they run.
 *
 * @param group The folder of their cgroup v2; see `stoppableGroup`.
 */
export const standingCopy = async (
  { image, folder }: VolumePlace & { readonly image: string },
  group: string,
  copy: string
): Promise<{ readonly pausedMs: number } | null> => {
  const { code, stdout } = await hostCommand([PROGRAM, folder, group, image, copy], null, { timeoutMs: WITHIN_MS })
  if (code === 0) return { pausedMs: Number(stdout) / 1000 }
  // It was killed, so it may have left either.
  if (!REFUSALS.has(code)) letRun({ v2: dirname(group) }, basename(group))
  await rm(copy, { force: true })
  return null
}
