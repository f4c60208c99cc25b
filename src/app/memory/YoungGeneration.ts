/**
 * Bounds V8's young generation, in which it makes new objects, to 32 MiB.
 *
 * V8 doubles it up to 128 MiB while objects survive its collections, and a busy service has all of it resident: 70 to 100 MB that serve nothing
 * (docs/architecture/speed.md). The option for that, `--max-semi-space-size`, would have to be on the command line of everything that starts the
 * service. The factor of the growth may be set in a running process. It is set back when V8 has given memory back, so that the generation can grow
 * to its bound again. A start without stored code compiles all of it in one turn, in which V8 may take the whole 128 MiB: those are given back when it
 * is over.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8"
import { collectGarbage } from "./garbageCollector.ts"

const mebibyte = 1024 * 1024
/** What V8 doubles from here on would be above 32 MiB. Its sizes are powers of two, less what it keeps for itself. */
const mayDoubleBytes = 20 * mebibyte
const tooLargeBytes = 40 * mebibyte
/** Objects that survive fill 16 MiB in more time than this. */
const lookEveryMs = 250

const sizeBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_size ?? 0

/** @param settledAfterMs Until V8 is made to give back what is too large, and between two such collections: each takes a quarter of a second. */
export const boundYoungGeneration = (settledAfterMs = 10_000): void => {
  let growth = 2
  let shrinkAt = performance.now() + settledAfterMs
  const look = () => {
    const size = sizeBytes()
    const allowed = size >= mayDoubleBytes ? 1 : 2
    if (allowed !== growth) setFlagsFromString(`--semi-space-growth-factor=${allowed}`)
    growth = allowed
    const now = performance.now()
    if (size < tooLargeBytes || now < shrinkAt) return
    shrinkAt = now + settledAfterMs
    collectGarbage({ type: "major", flavor: "last-resort" })
  }
  setInterval(look, lookEveryMs).unref()
}
