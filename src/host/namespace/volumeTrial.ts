/** Whether this host lets us mount an image: found out by mounting a small one. */
import { randomUUID } from "node:crypto"
import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { identify } from "../linux/ProcessIdentity.ts"
import { closeVolume, LoopDevicesExhausted, openVolume, type VolumePlace } from "./volume.ts"

const TRIAL_BYTES = 1024 * 1024
/** `trial-PID-START-UUID`; before, without the process. */
const TRIAL = /^(trial-(?:(\d+)-(\d+)-)?[\da-f]{8}-[\da-f-]+)(?:\.img)?$/

const placeOf = (folder: string, name: string): VolumePlace & { readonly image: string } => {
  const path = join(folder, name)
  return { image: `${path}.img`, folder: path }
}

const remove = async (place: ReturnType<typeof placeOf>): Promise<void> => {
  await closeVolume(place).catch(() => {})
  await rm(place.image, { force: true })
}

/** Of processes that were killed in the middle of it. */
const removeAbandoned = async (folder: string): Promise<void> => {
  const names = new Set<string>()
  for (const entry of await readdir(folder)) {
    const [, name, pid, startTime] = TRIAL.exec(entry) ?? []
    if (name === undefined) continue
    if (pid === undefined || identify(Number(pid))?.startTime !== Number(startTime)) names.add(name)
  }
  for (const name of names) await remove(placeOf(folder, name))
}

/** @param folder Ours. What was left there by such a look that was killed is removed. */
export const canMountImages = async (folder: string): Promise<boolean> => {
  await removeAbandoned(folder)
  const place = placeOf(folder, `trial-${process.pid}-${identify(process.pid)!.startTime}-${randomUUID()}`)
  try {
    await openVolume(place, TRIAL_BYTES, null)
    return true
  } catch (cause) {
    // It can, only not now.
    return cause instanceof LoopDevicesExhausted
  } finally {
    await remove(place)
  }
}
