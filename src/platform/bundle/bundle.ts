/** Runs esbuild for the files that the service bundles at its start. esbuild has one helper process, which ends when no bundle is being made. */
import { resolve } from "node:path"
import type { BuildOptions, OutputFile } from "esbuild"

/** Running builds. A build whose helper is stopped would never end. */
let underway = 0

export interface Bundled {
  readonly files: ReadonlyArray<OutputFile>
  /** Paths of all source files. */
  readonly sources: ReadonlyArray<string>
}

/** Builds the files in memory; `write`, `metafile` and `logLevel` are set here. */
export const bundle = async (options: BuildOptions): Promise<Bundled> => {
  underway++
  // Imported here, because a cached result needs no esbuild.
  const { build, stop } = await import("esbuild")
  try {
    const { outputFiles, metafile } = await build({ ...options, write: false, metafile: true, logLevel: "silent" })
    // A plugin's namespace precedes the path.
    const sources = Object.keys(metafile!.inputs).map((path) => resolve(path.replace(/^[\w ]+:/, "")))
    return { files: outputFiles!, sources }
  } finally {
    if (--underway === 0) await stop()
  }
}
