/**
 * Identifies one version of a file or directory by the fields that the kernel changes with every change: identity, size, mtime and ctime in
 * nanoseconds. The device number is left out: everything is on one mount, and the number may differ after the next boot.
 *
 * Kernels before 6.13 stamp with a clock that ticks every 1..10 ms, so a second change within a tick of the first leaves no trace. Therefore a
 * version is taken only once its ctime is older than a tick (`settled`): every later change gets another ctime.
 */
import fs from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"

/** The longest tick of a Linux kernel (CONFIG_HZ=100), and one millisecond for the rounding of Date.now(). */
const tickMs = 11

export const versionOf = (stat: fs.BigIntStats): string =>
  [stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].map((part) => part.toString(36)).join(".")

/** Whether any later change is certain to change the ctime. A ctime in the future (the clock was set back) counts as settled: it will differ. */
export const settled = (stat: fs.BigIntStats): boolean => {
  const ageMs = Date.now() - Number(stat.ctimeMs)
  return ageMs < 0 || ageMs > tickMs
}

/** Waits for at most one tick; a file that is written without pause stays unsettled. */
export const settledStat = async (descriptor: number): Promise<fs.BigIntStats> => {
  const stat = fs.fstatSync(descriptor, { bigint: true })
  if (settled(stat)) return stat
  await sleep(tickMs + 1)
  return fs.fstatSync(descriptor, { bigint: true })
}
