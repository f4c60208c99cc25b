/** Runs a program that may end itself with SIGKILL. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"

/** The number that it printed; null: it was killed. Rejects with its error output if it fails in another way. */
export const untilKilled = (program: string, args: ReadonlyArray<string>): Promise<number | null> =>
  promisify(execFile)(process.execPath, ["--no-warnings", program, ...args]).then(
    ({ stdout }) => Number(stdout),
    (fault: { readonly signal?: string; readonly stderr?: string }) => {
      if (fault.signal !== "SIGKILL") throw new Error(fault.stderr)
      return null
    }
  )
