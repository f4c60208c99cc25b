/** esbuild for whatever the service bundles at its start: it has one helper process, which ends when nothing is being made. */
import { type BuildOptions, build, type OutputFile, stop } from "esbuild"

/** One whose helper is stopped never ends. */
let underway = 0

/** The files, in memory; `write` and `logLevel` are set here. */
export const bundle = async (options: BuildOptions): Promise<ReadonlyArray<OutputFile>> => {
  underway++
  try {
    return (await build({ ...options, write: false, logLevel: "silent" })).outputFiles!
  } finally {
    if (--underway === 0) await stop()
  }
}
