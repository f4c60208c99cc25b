/** Runs one of the host's programs to its end, with a minimal environment and bounded time and output. */
import { spawn } from "node:child_process"
import { StringDecoder } from "node:string_decoder"
import { hasSpawner, spawned } from "./HostSpawner.ts"
import { identify, signal } from "./ProcessIdentity.ts"
import { printable } from "./printable.ts"

const OUTPUT_MAX_CHARS = 16 * 1024
const SHOWN_MAX_CHARS = 1_000
const TIMEOUT_MS = 60_000

/** The environment of every program that a driver starts. It has nothing of the service's own environment, which holds secrets. */
export const HOST_ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LANG: "C.UTF-8"
} as const

/** The beginning of what a program writes. */
class BoundedText {
  readonly #decoder = new StringDecoder("utf8")
  readonly #maxChars: number
  #text = ""

  constructor(maxChars: number) {
    this.#maxChars = maxChars
  }

  add(bytes: Buffer): void {
    if (this.#text.length < this.#maxChars) this.#text += this.#decoder.write(bytes)
  }

  end(): string {
    return this.#text + this.#decoder.end()
  }
}

export interface HostOutcome {
  /** Null when a signal ended it; 127 when the program is missing. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

type Argv = readonly [string, ...ReadonlyArray<string>]

export interface HostBounds {
  /** 60 s. */
  readonly timeoutMs?: number
  /** 16 KiB; the rest is dropped. */
  readonly stdoutMaxChars?: number
}

/** Gathers what a program writes, until it ends or its time is over. */
const gathering = (
  resolve: (outcome: HostOutcome) => void,
  kill: () => void,
  { timeoutMs = TIMEOUT_MS, stdoutMaxChars = OUTPUT_MAX_CHARS }: HostBounds
) => {
  const said = { stdout: new BoundedText(stdoutMaxChars), stderr: new BoundedText(OUTPUT_MAX_CHARS) }
  const timer = setTimeout(kill, timeoutMs)
  const finish = (code: number | null, error = "") => {
    clearTimeout(timer)
    resolve({ code, stdout: said.stdout.end(), stderr: said.stderr.end() + error })
  }
  return { said, finish }
}

const bySpawner = (argv: Argv, input: string | null, bounds: HostBounds): Promise<HostOutcome> =>
  new Promise((resolve) => {
    let pid: number | null = null
    const kill = () => {
      const it = pid === null ? null : identify(pid)
      if (it !== null) signal(it, "SIGKILL")
    }
    const { said, finish } = gathering(resolve, kill, bounds)
    spawned(argv, HOST_ENVIRONMENT, input, {
      started: (it) => {
        pid = it
      },
      failed: (why) => finish(127, `spawn ${argv[0]} ${why}`),
      output: (stream, bytes) => said[stream].add(bytes),
      ended: (code) => finish(code)
    }).hold()
  })

const byNode = (argv: Argv, input: string | null, bounds: HostBounds): Promise<HostOutcome> =>
  new Promise((resolve) => {
    const child = spawn(argv[0], argv.slice(1), { cwd: "/", env: HOST_ENVIRONMENT, stdio: ["pipe", "pipe", "pipe"] })
    const { said, finish } = gathering(resolve, () => child.kill("SIGKILL"), bounds)
    child.stdin.on("error", () => {})
    child.stdin.end(input ?? "")
    for (const stream of ["stdout", "stderr"] as const) child[stream].on("data", (bytes) => said[stream].add(bytes))
    child.on("error", (cause) => finish(127, cause.message))
    child.on("close", (code) => finish(code))
  })

export const hostCommand = (argv: Argv, input: string | null = null, bounds: HostBounds = {}): Promise<HostOutcome> =>
  (hasSpawner ? bySpawner : byNode)(argv, input, bounds)

/** Runs the command. Throws with its output when it fails. */
export const mustRun = async (argv: Argv, input: string | null = null, bounds: HostBounds = {}): Promise<string> => {
  const { code, stdout, stderr } = await hostCommand(argv, input, bounds)
  if (code === 0) return stdout
  throw new Error(`${argv[0]} ended with ${code}: ${printable(stderr, SHOWN_MAX_CHARS)}`)
}
