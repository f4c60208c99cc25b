/** One copied file or directory, as `--json` prints it. */
export interface Copied {
  readonly from: string
  readonly to: string
  readonly type: "file" | "directory"
  /** Files, directories and links; of a file 1. */
  readonly entries: number
  readonly bytes: number
  /**
   * The skipped entries of a directory: those that are neither file, directory nor link, and links that lead out of it.
   */
  readonly leftOut: ReadonlyArray<string>
}
