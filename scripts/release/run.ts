/** Programs of a release: what they print is shown only when they fail. */
import { spawnSync } from "node:child_process"

export interface RunOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** @returns What it wrote to stdout. */
export const run = (program: string, args: ReadonlyArray<string>, { cwd, env = process.env }: RunOptions): string => {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, env, encoding: "utf8" })
  if (error !== undefined) throw new Error(`${program}: ${error.message}`)
  if (status !== 0) throw new Error(`${[program, ...args].join(" ")} ended with ${status}:\n${stdout}${stderr}`)
  return stdout
}
