/**
 * The places at which a run may be disturbed: each call of the runtime and each commit passes one before it happens and
 * one after, when it has happened and its answer is still unknown. A rule holds, fails or refuses the next arrivals at
 * one place.
 */
import { Effect } from "effect"

export const runtimeCalls = [
  "provision",
  "stop",
  "destroy",
  "suspend",
  "resize",
  "inventory",
  "start",
  "attach",
  "kill",
  "turn",
  "capture",
  "restore",
  "removeSnapshot",
  "receive",
  "accept",
  "pullImage",
  "receiveImage",
  "acceptImage",
  "removeImage"
] as const
export const databaseCalls = ["commit", "insert", "claim"] as const

export type GateCall = (typeof runtimeCalls)[number] | (typeof databaseCalls)[number]
export type GatePhase = "before" | "after"
export type GateFault = "fail" | "refuse"

export interface Rule {
  readonly call: GateCall
  readonly phase: GatePhase
  readonly action: "hold" | GateFault
  /** How many more arrivals it affects. */
  left: number
}

interface Held {
  readonly call: GateCall
  readonly owner: object | null
  readonly release: () => void
}

export class Gates {
  #rules: Array<Rule> = []
  readonly #held = new Set<Held>()
  readonly #gone = new WeakSet<object>()

  add(rule: Rule) {
    this.#rules.push({ ...rule })
  }

  /**
   * Every call waits here for its turn, and learns whether it shall fail. `owner`: whose crash ends the wait for ever.
   */
  arrive(call: GateCall, phase: GatePhase, owner: object | null = null): Effect.Effect<void, GateFault> {
    return Effect.suspend(() => {
      if (owner !== null && this.#gone.has(owner)) return Effect.never
      const rule = this.#rules.find((one) => one.call === call && one.phase === phase && one.left > 0)
      if (rule === undefined) return Effect.void
      rule.left--
      if (rule.action !== "hold") return Effect.fail(rule.action)
      return Effect.callback<void>((resume) => {
        const held: Held = {
          call,
          owner,
          release: () => {
            this.#held.delete(held)
            resume(Effect.void)
          }
        }
        this.#held.add(held)
        return Effect.sync(() => void this.#held.delete(held))
      })
    })
  }

  /** Releases one of the waiting calls, in any order. */
  release(index: number) {
    const held = [...this.#held]
    held[index % Math.max(1, held.length)]?.release()
  }

  /** This owner's calls never go on, even where they cannot be interrupted. */
  abandon(owner: object) {
    this.#gone.add(owner)
    for (const held of [...this.#held]) if (held.owner === owner) this.#held.delete(held)
  }

  /** Removes all rules and releases every call. */
  open() {
    this.#rules = []
    for (const held of [...this.#held]) held.release()
  }

  get heldCalls(): ReadonlyArray<string> {
    return [...this.#held].map(({ call }) => call)
  }
}
