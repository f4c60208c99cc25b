/** A program that a user runs, and what it says on either stream. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"

export interface Running {
  readonly child: ChildProcess
  readonly said: () => string
  /** What it said; fails with that where it does not end with 0. */
  readonly ended: Promise<string>
}

/** @param cwd By default where the tests run. */
export const runProgram = (
  command: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>,
  cwd?: string
): Running => {
  const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"] })
  let said = ""
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text
    })
  const ended = once(child, "close").then(([code, signal]) => {
    if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code ?? signal}:\n${said}`)
    return said
  })
  // The waiting test gets the error.
  ended.catch(() => {})
  return { child, said: () => said, ended }
}
