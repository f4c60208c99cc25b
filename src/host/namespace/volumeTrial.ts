/** Tests whether this process may mount an image, by mounting a small one. */
import { randomUUID } from "node:crypto"
import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { identify } from "../linux/ProcessIdentity.ts"
import { closeVolume, LoopDevicesExhausted, openVolume, type VolumePlace } from "./volume.ts"

const TRIAL_BYTES = 1024 * 1024
/** `trial-PID-START-UUID`; earlier versions left out the process. */
const TRIAL = /^(trial-(?:(\d+)-(\d+)-)?[\da-f]{8}-[\da-f-]+)(?:\.img)?$/

const placeOf = (folder: string, name: string): VolumePlace & { readonly image: string } => {
  const path = join(folder, name)
  return { image: `${path}.img`, folder: path }
}

const remove = async (place: ReturnType<typeof placeOf>): Promise<void> => {
  await closeVolume(place).catch(() => {})
  await rm(place.image, { force: true })
}

/** Removes trials of processes that were killed during one. */
const removeAbandoned = async (folder: string): Promise<void> => {
  const names = new Set<string>()
  for (const entry of await readdir(folder)) {
    const [, name, pid, startTime] = TRIAL.exec(entry) ?? []
    if (name === undefined) continue
    if (pid === undefined || identify(Number(pid))?.startTime !== Number(startTime)) names.add(name)
  }
  for (const name of names) await remove(placeOf(folder, name))
}

/** @param folder A folder of this driver. Leftovers of killed trials in it are removed. */
export const canMountImages = async (folder: string): Promise<boolean> => {
  await removeAbandoned(folder)
  const place = placeOf(folder, `trial-${process.pid}-${identify(process.pid)!.startTime}-${randomUUID()}`)
  try {
    await openVolume(place, TRIAL_BYTES, null)
    return true
  } catch (cause) {
    // Mounting works; only no loop device is free now.
    return cause instanceof LoopDevicesExhausted
  } finally {
    await remove(place)
  }
}
