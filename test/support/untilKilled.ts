/** Runs a program that may end itself with SIGKILL. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"

/** What it printed, as a number; null: it was killed. Rejects with what it said on its end by itself. */
export const untilKilled = (program: string, args: ReadonlyArray<string>): Promise<number | null> =>
  promisify(execFile)(process.execPath, ["--no-warnings", program, ...args]).then(
    ({ stdout }) => Number(stdout),
    (fault: { readonly signal?: string; readonly stderr?: string }) => {
      if (fault.signal !== "SIGKILL") throw new Error(fault.stderr)
      return null
    }
  )
