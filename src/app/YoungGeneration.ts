/**
 * Bounds V8's young generation, in which it makes new objects, to 32 MiB.
 *
 * V8 doubles it up to 128 MiB while objects survive its collections, and a busy service has all of it resident: 70 to 100 MB that serve nothing
 * (docs/architecture/speed.md). The option for that, `--max-semi-space-size`, would have to be on the command line of everything that starts the
 * service. The factor of the growth may be set in a running process. It is set back when V8 has given memory back, so that the generation can grow
 * to its bound again.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8"

const boundBytes = 32 * 1024 * 1024
/** Objects that survive fill 16 MiB in more time than this. */
const lookEveryMs = 250

const sizeBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_size ?? 0

export const boundYoungGeneration = (): void => {
  let growth = 2
  const look = () => {
    const allowed = sizeBytes() >= boundBytes ? 1 : 2
    if (allowed !== growth) setFlagsFromString(`--semi-space-growth-factor=${allowed}`)
    growth = allowed
  }
  setInterval(look, lookEveryMs).unref()
}
