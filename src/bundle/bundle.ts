/** esbuild for whatever the service bundles at its start: it has one helper process, which ends when nothing is being made. */
import { resolve } from "node:path"
import type { BuildOptions, OutputFile } from "esbuild"

/** One whose helper is stopped never ends. */
let underway = 0

export interface Bundled {
  readonly files: ReadonlyArray<OutputFile>
  /** Paths of all that went into them. */
  readonly sources: ReadonlyArray<string>
}

/** The files, in memory; `write`, `metafile` and `logLevel` are set here. */
export const bundle = async (options: BuildOptions): Promise<Bundled> => {
  underway++
  // Where what was made before is taken, nobody needs it.
  const { build, stop } = await import("esbuild")
  try {
    const { outputFiles, metafile } = await build({ ...options, write: false, metafile: true, logLevel: "silent" })
    // A plugin's own kind of file has its name before the path.
    const sources = Object.keys(metafile!.inputs).map((path) => resolve(path.replace(/^[\w ]+:/, "")))
    return { files: outputFiles!, sources }
  } finally {
    if (--underway === 0) await stop()
  }
}
