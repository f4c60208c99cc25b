/** Where a sparse file is no hole. @source filefrag(8), Linux Documentation/filesystems/fiemap.rst */
import { execFile } from "node:child_process"
import { HOST_ENVIRONMENT } from "./hostCommand.ts"

const BLOCK_BYTES = 4096
const OUTPUT_MAX_BYTES = 256 * 1024 ** 2

/** From and to, in bytes, in order; what is not on the disk yet is written there first. Null where the file system does not tell. */
export const fileExtents = (path: string): Promise<ReadonlyArray<readonly [number, number]> | null> =>
  new Promise((resolve) => {
    const options = { env: HOST_ENVIRONMENT, cwd: "/", maxBuffer: OUTPUT_MAX_BYTES }
    execFile("filefrag", ["-s", "-e", `-b${BLOCK_BYTES}`, path], options, (fault, stdout) => {
      // Without FIEMAP it goes by blocks, as root, and says nothing of what is not written yet.
      const found = /: (\d+) extents? found\s*$/.exec(stdout)
      const extents = [...stdout.matchAll(/^\s*\d+:\s*(\d+)\.\.\s*(\d+):/gm)].map(
        ([, first, last]) => [Number(first) * BLOCK_BYTES, (Number(last) + 1) * BLOCK_BYTES] as const
      )
      const isTold = fault === null && found !== null && !/FIBMAP/.test(stdout)
      resolve(isTold ? extents : null)
    })
  })
