/** One thing that was copied, as `--json` tells it. */
export interface Copied {
  readonly from: string
  readonly to: string
  readonly type: "file" | "directory"
  /** Files, directories and links; of a file 1. */
  readonly entries: number
  readonly bytes: number
  /** What of a directory was not copied: what is neither file, directory nor link, and links that lead out of it. */
  readonly leftOut: ReadonlyArray<string>
}
