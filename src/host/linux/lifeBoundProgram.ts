/**
 * Starts a program that outlives the service and ends with what holds the other end of its life pipe: its descriptor 3. It says on descriptor 4 that it
 * is ready, once.
 */
import { spawn } from "node:child_process"
import type { Readable } from "node:stream"
import { hasSpawner, spawned } from "./HostSpawner.ts"

export interface LifeBound {
  readonly argv: readonly [string, ...ReadonlyArray<string>]
  readonly env: Readonly<Record<string, string>>
  /** The caller closes it. */
  readonly lifeFd: number
  /** Called once it runs. */
  readonly began: (pid: number) => void
}

/** The other end may be gone already: then the shell waits for it, until it is killed. */
const WITH_DESCRIPTORS = 'exec 3<"$0" 4>&1 >/dev/null 2>&1; exec "$@"'

const bySpawner = ({ argv, env, lifeFd, began }: LifeBound): Promise<void> =>
  new Promise((resolve, reject) => {
    const life = `/proc/${process.pid}/fd/${lifeFd}`
    const command = spawned(["/bin/sh", "-c", WITH_DESCRIPTORS, life, ...argv], env, null, {
      started: began,
      failed: (why) => reject(new Error(`${argv[0]}: ${why}`)),
      output: () => {
        command.forget()
        resolve()
      },
      ended: (code) => reject(new Error(`it ended with ${code ?? "a signal"}`))
    })
    command.hold()
  })

const byNode = ({ argv: [file, ...args], env, lifeFd, began }: LifeBound): Promise<void> => {
  const child = spawn(file, args, {
    ...{ cwd: "/", detached: true, env },
    stdio: ["ignore", "ignore", "ignore", lifeFd, "pipe"]
  })
  child.unref()
  if (child.pid !== undefined) began(child.pid)
  const ready = child.stdio[4] as Readable
  return new Promise<void>((resolve, reject) => {
    child.on("error", reject)
    child.on("exit", (code, by) => reject(new Error(`it ended with ${code ?? by}`)))
    ready.on("error", () => {})
    ready.once("data", () => resolve())
  }).finally(() => ready.destroy())
}

/** Resolves when it is ready. Rejects when it ends before. */
export const lifeBoundProgram = (program: LifeBound): Promise<void> =>
  hasSpawner ? bySpawner(program) : byNode(program)
