/**
 * How long a process was ready to run and had no processor. A time-out for a machine does not count that time: an overloaded host must not
 * take a machine that makes progress for a dead one, and start another.
 *
 * @source Linux Documentation/scheduler/sched-stats.rst, /proc/<pid>/schedstat
 */
import { readdirSync, readFileSync } from "node:fs"
import { Effect } from "effect"

/** The longest wait, in time-outs, for a process that hardly ever gets a processor. */
const STRETCH_MAX = 10

interface Thread {
  readonly ranNs: number
  readonly waitedNs: number
  readonly isReady: boolean
}

const threadOf = (folder: string): Thread | null => {
  try {
    const [ran = 0, waited = 0] = readFileSync(`${folder}/schedstat`, "latin1").split(" ").map(Number)
    const stat = readFileSync(`${folder}/stat`, "latin1")
    return { ranNs: ran, waitedNs: waited, isReady: stat.startsWith("R", stat.lastIndexOf(")") + 2) }
  } catch {
    return null
  }
}

/** Empty when the process is gone, or where the kernel does not count. */
const threadsOf = (pid: number): ReadonlyMap<string, Thread> => {
  try {
    const names = readdirSync(`/proc/${pid}/task`)
    return new Map(
      names.flatMap((name) => {
        const thread = threadOf(`/proc/${pid}/task/${name}`)
        return thread === null ? [] : [[name, thread] as const]
      })
    )
  } catch {
    return new Map()
  }
}

/** The kernel counts a wait only once it is over. Until then it shows as a thread that is ready and has not run since the last look. */
const waitedMs = (before: Thread | undefined, now: Thread, sinceMs: number): number => {
  if (before === undefined) return 0
  const hasMoved = now.ranNs > before.ranNs || now.waitedNs > before.waitedNs
  return hasMoved ? (now.waitedNs - before.waitedNs) / 1e6 : now.isReady ? sinceMs : 0
}

/** Bounds of the time between two looks. */
const LOOK_MIN_MS = 50
const LOOK_MAX_MS = 1_000

/** Counts down while the process has the processors that it wants. */
export class Patience {
  readonly #pid: number
  readonly #timeoutMs: number
  readonly #beganAt = performance.now()
  #lookedAt = this.#beganAt
  #threads: ReadonlyMap<string, Thread>
  /** Of the thread that waited longest, in each time between two looks. */
  #starvedMs = 0

  constructor({ pid }: { readonly pid: number }, timeoutMs: number) {
    this.#pid = pid
    this.#timeoutMs = timeoutMs
    this.#threads = threadsOf(pid)
  }

  /** 0: it is over. Else when to look again: it is not over before. */
  leftMs(): number {
    const now = performance.now()
    const sinceMs = now - this.#lookedAt
    const before = this.#threads
    this.#threads = threadsOf(this.#pid)
    this.#lookedAt = now
    const waits = [...this.#threads].map(([name, thread]) => waitedMs(before.get(name), thread, sinceMs))
    this.#starvedMs += Math.min(sinceMs, Math.max(0, ...waits))
    const granted = Math.min(this.#starvedMs, this.#timeoutMs * (STRETCH_MAX - 1))
    const leftMs = this.#timeoutMs + granted - (now - this.#beganAt)
    return leftMs <= 0 ? 0 : Math.min(LOOK_MAX_MS, Math.max(leftMs, LOOK_MIN_MS))
  }
}

/** Ends once the process has had, for `timeoutMs`, the processors that it wanted. */
export const patienceEnds = (process: { readonly pid: number }, timeoutMs: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    const patience = new Patience(process, timeoutMs)
    const wait: Effect.Effect<void> = Effect.suspend(() => {
      const leftMs = patience.leftMs()
      return leftMs === 0 ? Effect.void : Effect.andThen(Effect.sleep(leftMs), wait)
    })
    return wait
  })
