/** Ends a process tree: the caller sent TERM, KILL follows after a grace and is repeated until no process lives. */
import type { ProcessTree } from "./ProcessTree.ts"

/** The first and the longest interval between two checks. */
const POLL_MS = 20
const POLL_MAX_MS = 1_000
/** A tree that still exists this long after KILL (a process stuck in the kernel) is reported as unconfirmed; KILL is repeated until it is gone. */
const CONFIRM_MS = 5_000

export type EndingPhase = "confirming" | "unconfirmed" | "gone"

export class TreeEnding {
  phase: EndingPhase = "confirming"
  readonly #tree: ProcessTree
  readonly #onPhase: (before: EndingPhase) => void
  #killAt: number
  #waitMs = POLL_MS
  #timer: NodeJS.Timeout | null = null

  /** @param onPhase Called after each change of `phase`. */
  constructor(tree: ProcessTree, graceMs: number, onPhase: (before: EndingPhase) => void) {
    this.#tree = tree
    this.#onPhase = onPhase
    this.#killAt = performance.now() + graceMs
  }

  /** Brings the KILL forward, if `graceMs` ends before it is due. */
  hasten(graceMs: number): void {
    this.#killAt = Math.min(this.#killAt, performance.now() + graceMs)
    this.#waitMs = POLL_MS
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.check()
  }

  /** Checks the tree now, and again until it is gone. */
  check(): void {
    this.#timer = null
    const now = performance.now()
    const isGone = now >= this.#killAt ? this.#tree.kill() : this.#tree.isEmpty()
    const isConfirming = !isGone && now < this.#killAt + CONFIRM_MS
    if (!isGone) {
      if (!isConfirming) this.#waitMs = Math.min(2 * this.#waitMs, POLL_MAX_MS)
      const waitMs = now < this.#killAt ? Math.min(POLL_MS, this.#killAt - now) : this.#waitMs
      this.#timer = setTimeout(() => this.check(), waitMs)
    }
    const before = this.phase
    if (isConfirming) return
    this.phase = isGone ? "gone" : "unconfirmed"
    if (this.phase !== before) this.#onPhase(before)
  }
}
