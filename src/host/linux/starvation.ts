/**
 * Measures how long a process was ready to run but had no processor. A machine's time-out does not count that time: otherwise an overloaded host
 * would declare a machine dead that makes progress, and start another.
 *
 * @source Linux Documentation/scheduler/sched-stats.rst, /proc/<pid>/schedstat
 */
import { readdirSync, readFileSync } from "node:fs"
import { Effect } from "effect"

/** The longest wait, as a multiple of the time-out, for a process that hardly ever gets a processor. */
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

/** Empty when the process is gone, or where the kernel does not count waits. */
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

/** The kernel counts a wait only once it is over. Until then it shows as a thread that is ready and has not run since the last sample. */
const waitedMs = (before: Thread | undefined, now: Thread, sinceMs: number): number => {
  if (before === undefined) return 0
  const hasMoved = now.ranNs > before.ranNs || now.waitedNs > before.waitedNs
  return hasMoved ? (now.waitedNs - before.waitedNs) / 1e6 : now.isReady ? sinceMs : 0
}

/** Bounds of the time between two samples. */
const LOOK_MIN_MS = 50
const LOOK_MAX_MS = 1_000

/** A time-out that counts only the time in which the process had the processors that it wanted. */
export class Patience {
  readonly #pid: number
  readonly #timeoutMs: number
  readonly #beganAt = performance.now()
  #lookedAt = this.#beganAt
  #threads: ReadonlyMap<string, Thread>
  /** Sums, for each time between two samples, the wait of the thread that waited longest. */
  #starvedMs = 0

  constructor({ pid }: { readonly pid: number }, timeoutMs: number) {
    this.#pid = pid
    this.#timeoutMs = timeoutMs
    this.#threads = threadsOf(pid)
  }

  /** 0 when the time-out has expired. Otherwise the time until the next sample; it cannot expire earlier. */
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

/** Completes once the process has had the processors that it wanted for `timeoutMs`. */
export const patienceEnds = (process: { readonly pid: number }, timeoutMs: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    const patience = new Patience(process, timeoutMs)
    const wait: Effect.Effect<void> = Effect.suspend(() => {
      const leftMs = patience.leftMs()
      return leftMs === 0 ? Effect.void : Effect.andThen(Effect.sleep(leftMs), wait)
    })
    return wait
  })
