/** Options and results of copying whole directories in and out. */
import type { Waiting } from "./Waiting.ts"

export interface DirectoryProgress {
  /** Files, directories and links so far. */
  readonly entries: number
  /** Content of files so far. */
  readonly bytes: number
  /** The present entry, below the directory, with `/` between names. */
  readonly path: string
}

export interface DirectoryOptions extends Waiting {
  /** Called with each entry, and with each piece of a large file. Starts over where a request is repeated. */
  readonly onProgress?: ((progress: DirectoryProgress) => void) | undefined
  /** False skips an entry, a directory with everything in it: `(path) => path !== "node_modules"`. */
  readonly filter?: ((path: string) => boolean) | undefined
}

export interface DownloadOptions extends DirectoryOptions {
  /** Fails for a directory that is larger, files and their metadata counted. By default there is no limit. */
  readonly maxBytes?: number | undefined
}

export interface DirectoryTransfer {
  /** Files, directories and links. */
  readonly entries: number
  /** Content of files. */
  readonly bytes: number
  /**
   * The skipped entries, at most the first 1000: those that are neither file, directory nor link, and on a download
   * links that lead out of the directory.
   * On Deno, whose file names are text only, also those with another name.
   */
  readonly leftOut: ReadonlyArray<string>
}
