/**
 * Names one version of a file or directory by what the kernel changes whenever it changes: identity, size, mtime and ctime in nanoseconds.
 * Everything is on one mount, and the device's number may differ after the next boot, so it is left out.
 *
 * Kernels before 6.13 stamp with a clock that ticks every 1..10 ms, so a second change within a tick of the first leaves no trace. Therefore a
 * version is taken only once its ctime is older than a tick (`settled`): whatever happens from then on gets another ctime.
 */
import fs from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"

/** The longest tick a Linux kernel is built with (CONFIG_HZ=100), and one millisecond for the rounding of Date.now(). */
const tickMs = 11

export const versionOf = (stat: fs.BigIntStats): string =>
  [stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].map((part) => part.toString(36)).join(".")

/** A change from now on is certain to change the ctime. A ctime in the future (the clock was set back) counts as settled: it will differ. */
export const settled = (stat: fs.BigIntStats): boolean => {
  const ageMs = Date.now() - Number(stat.ctimeMs)
  return ageMs < 0 || ageMs > tickMs
}

/** Waits for at most one tick; what is written without pause stays unsettled. */
export const settledStat = async (descriptor: number): Promise<fs.BigIntStats> => {
  const stat = fs.fstatSync(descriptor, { bigint: true })
  if (settled(stat)) return stat
  await sleep(tickMs + 1)
  return fs.fstatSync(descriptor, { bigint: true })
}
