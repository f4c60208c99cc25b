/** Whole directories on their way in and out. */
import type { Waiting } from "./Waiting.ts"

export interface DirectoryProgress {
  /** Files, directories and links so far. */
  readonly entries: number
  /** Content of files so far. */
  readonly bytes: number
  /** The entry that it is at, below the directory, with `/` between names. */
  readonly path: string
}

export interface DirectoryOptions extends Waiting {
  /** Told with each entry, and with each piece of a large file. Begins anew where a request is made again. */
  readonly onProgress?: ((progress: DirectoryProgress) => void) | undefined
  /** False leaves an entry out, a directory with all that is in it: `(path) => path !== "node_modules"`. */
  readonly filter?: ((path: string) => boolean) | undefined
}

export interface DownloadOptions extends DirectoryOptions {
  /** Fails for a directory that is larger, files and what is said about them counted. By default there is no limit. */
  readonly maxBytes?: number | undefined
}

export interface DirectoryTransfer {
  /** Files, directories and links. */
  readonly entries: number
  /** Content of files. */
  readonly bytes: number
  /**
   * What was left out, at most the first 1000: what is neither file, directory nor link, and links that lead out of a directory on its way here.
   * On Deno, whose files have names of text only, also what has another name.
   */
  readonly leftOut: ReadonlyArray<string>
}
