/** The parts of a sparse file that are allocated. @source filefrag(8), Linux Documentation/filesystems/fiemap.rst */
import { execFile } from "node:child_process"
import { HOST_ENVIRONMENT } from "./hostCommand.ts"

const BLOCK_BYTES = 4096
const OUTPUT_MAX_BYTES = 256 * 1024 ** 2

/** Pairs of first and end offset, in bytes, in order. Data that is not on the disk yet is flushed first. Null where the file system does not report extents. */
export const fileExtents = (path: string): Promise<ReadonlyArray<readonly [number, number]> | null> =>
  new Promise((resolve) => {
    const options = { env: HOST_ENVIRONMENT, cwd: "/", maxBuffer: OUTPUT_MAX_BYTES }
    execFile("filefrag", ["-s", "-e", `-b${BLOCK_BYTES}`, path], options, (fault, stdout) => {
      // Without FIEMAP, filefrag asks block by block, needs root, and omits data that is not flushed.
      const found = /: (\d+) extents? found\s*$/.exec(stdout)
      const extents = [...stdout.matchAll(/^\s*\d+:\s*(\d+)\.\.\s*(\d+):/gm)].map(
        ([, first, last]) => [Number(first) * BLOCK_BYTES, (Number(last) + 1) * BLOCK_BYTES] as const
      )
      const isTold = fault === null && found !== null && !/FIBMAP/.test(stdout)
      resolve(isTold ? extents : null)
    })
  })
