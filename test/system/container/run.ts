/** Runs programs of the host to their end. */
import { spawn } from "node:child_process"

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 120_000
const SHOWN_CHARS = 4_000

/** Debian's folders of administrators' programs included. */
export const hostEnvironment = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: `${process.env["PATH"]}:/usr/sbin:/sbin`,
  ...more
})

/** Its standard output. Rejects, with the end of all its output, unless it exits with 0 in time. */
export const run = (program: string, args: ReadonlyArray<string>, options: RunOptions = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: options.env ?? hostEnvironment(),
      cwd: options.cwd,
      stdio: ["ignore", "pipe", "pipe"]
    })
    // Node's own time-out would keep this process for as long if the program does not exist.
    const late = setTimeout(() => child.kill("SIGKILL"), options.timeoutMs ?? TIMEOUT_MS)
    let output = ""
    let said = ""
    const hear = (text: string) => {
      said = (said + text).slice(-SHOWN_CHARS)
    }
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text
      hear(text)
    })
    child.stderr.setEncoding("utf8").on("data", hear)
    child.on("error", (fault) => {
      clearTimeout(late)
      reject(fault)
    })
    child.on("close", (code, signal) => {
      clearTimeout(late)
      if (code === 0) resolve(output)
      else reject(new Error(`${program} ${args.join(" ").slice(0, 300)} ended with ${code ?? signal}:\n${said.trim()}`))
    })
  })

/** Whether it can be run and exits with 0. */
export const works = (program: string, args: ReadonlyArray<string>, options: RunOptions = {}): Promise<boolean> =>
  run(program, args, options).then(
    () => true,
    () => false
  )

/** Resolves once `look` succeeds; after `withinMs` it rejects with the last fault. */
export const soon = async <A>(look: () => Promise<A>, withinMs: number): Promise<A> => {
  const deadline = performance.now() + withinMs
  while (true) {
    try {
      return await look()
    } catch (fault) {
      if (performance.now() > deadline) throw fault
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  }
}
