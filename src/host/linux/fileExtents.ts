/** The parts of a sparse file that are allocated. @source filefrag(8), Linux Documentation/filesystems/fiemap.rst */
import { hostCommand } from "./hostCommand.ts"

const BLOCK_BYTES = 4096
const OUTPUT_MAX_CHARS = 256 * 1024 ** 2
/** Much may have to be flushed. */
const TIMEOUT_MS = 600_000

/** Pairs of first and end offset, in bytes, in order. Data that is not on the disk yet is flushed first. Null where the file system does not report extents. */
export const fileExtents = async (path: string): Promise<ReadonlyArray<readonly [number, number]> | null> => {
  const list = ["filefrag", "-s", "-e", `-b${BLOCK_BYTES}`, path] as const
  const { code, stdout } = await hostCommand(list, null, { timeoutMs: TIMEOUT_MS, stdoutMaxChars: OUTPUT_MAX_CHARS })
  // Without FIEMAP, filefrag asks block by block, needs root, and omits data that is not flushed.
  const isTold = code === 0 && /: \d+ extents? found\s*$/.test(stdout) && !/FIBMAP/.test(stdout)
  if (!isTold) return null
  return [...stdout.matchAll(/^\s*\d+:\s*(\d+)\.\.\s*(\d+):/gm)].map(
    ([, first, last]) => [Number(first) * BLOCK_BYTES, (Number(last) + 1) * BLOCK_BYTES] as const
  )
}
