/** Runs one of the host's programs to its end, with a minimal environment and bounded time and output. */
import { spawn } from "node:child_process"
import { printable } from "./printable.ts"

const OUTPUT_MAX_CHARS = 16 * 1024
const SHOWN_MAX_CHARS = 1_000
const TIMEOUT_MS = 60_000

/** The environment of every program that a driver starts. It has nothing of the service's own environment, which holds secrets. */
export const HOST_ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LANG: "C.UTF-8"
} as const

export interface HostOutcome {
  /** Null when a signal ended it; 127 when the program is missing. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export const hostCommand = (
  argv: readonly [string, ...ReadonlyArray<string>],
  input: string | null = null
): Promise<HostOutcome> =>
  new Promise((resolve) => {
    let stdout = ""
    let stderr = ""
    const child = spawn(argv[0], argv.slice(1), { cwd: "/", env: HOST_ENVIRONMENT, stdio: ["pipe", "pipe", "pipe"] })
    const timer = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS)
    const finish = (code: number | null, error = "") => {
      clearTimeout(timer)
      resolve({ code, stdout, stderr: stderr + error })
    }
    child.stdin.on("error", () => {})
    child.stdin.end(input ?? "")
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (stdout.length < OUTPUT_MAX_CHARS) stdout += text
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (stderr.length < OUTPUT_MAX_CHARS) stderr += text
    })
    child.on("error", (cause) => finish(127, cause.message))
    child.on("close", (code) => finish(code))
  })

/** Runs the command. Throws with its output when it fails. */
export const mustRun = async (
  argv: readonly [string, ...ReadonlyArray<string>],
  input: string | null = null
): Promise<string> => {
  const { code, stdout, stderr } = await hostCommand(argv, input)
  if (code === 0) return stdout
  throw new Error(`${argv[0]} ended with ${code}: ${printable(stderr, SHOWN_MAX_CHARS)}`)
}
