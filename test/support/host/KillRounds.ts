/**
 * At which effects of the host's code a test kills the service. By default at every Nth, from one that a seed chooses, in an order of actions that it
 * chooses, and at no further one after a minute. ATOLL_KILLS=all: at each, in rounds
 * of every Nth, so that a run that ends early has met some of all; ATOLL_KILLS_UNTIL (epoch milliseconds) and the file ATOLL_KILLS_STOP end it.
 * ATOLL_KILLS_SEED: another order.
 */
import { existsSync, writeSync } from "node:fs"
import type { TestContext } from "vitest"

declare module "vitest" {
  interface TaskMeta {
    kills?: Kills
  }
}

export interface Kills {
  readonly kills: number
  /** Null: it ended before all were known. */
  readonly effects: number | null
  readonly seed: number
}

interface Asked {
  readonly isAll: boolean
  readonly seed: number
  readonly isOver: () => boolean
  /** How far it is. */
  readonly tell: (line: string) => void
}

const { env } = process
const until = Number(env["ATOLL_KILLS_UNTIL"] || Number.POSITIVE_INFINITY)
const stopFile = env["ATOLL_KILLS_STOP"]

const isAll = env["ATOLL_KILLS"] === "all"

const asked: Asked = {
  isAll,
  tell: (line) => (isAll ? void writeSync(1, `${line}\n`) : undefined),
  seed: Number(env["ATOLL_KILLS_SEED"] || Date.now() % 1000),
  isOver: () => Date.now() > until || (stopFile !== undefined && existsSync(stopFile))
}

const newKillsForMs = 30_000

export class KillRounds {
  readonly seed: number
  /** How many effects lie between two of one round. */
  readonly #step: number
  readonly #asked: Asked
  readonly #effects = new Map<string, number>()
  /** The last effect of each action at which something was killed. */
  readonly #last = new Map<string, number>()
  readonly #began = performance.now()
  #kills = 0

  constructor(step: number, given: Asked = asked) {
    this.#step = step
    this.#asked = given
    this.seed = given.seed
  }

  /** Real time for a test that takes so long by default. */
  static timeout(ms: number): number {
    return asked.isAll ? 12 * 3_600_000 : ms
  }

  get kills(): number {
    return this.#kills
  }

  /** Fewer mean that the test kills nothing. */
  get killsMin(): number {
    return this.#asked.isAll ? 0 : 3
  }

  /**
   * The places of this run. `next` takes how many effects the action had, where nothing was killed as there is no such place; else null.
   * @param stepOf Of actions with few effects, which are met more densely.
   */
  *places<A extends string>(
    actions: ReadonlyArray<A>,
    stepOf: (action: A) => number = () => this.#step
  ): Generator<{ readonly action: A; readonly at: number }, void, number | null> {
    const { isAll, isOver } = this.#asked
    const first = isAll ? 0 : this.seed % actions.length
    const ordered = [...actions.slice(first), ...actions.slice(0, first)]
    for (let round = 0; round < (isAll ? this.#step : 1); round++) {
      for (const action of ordered) {
        const step = Math.min(stepOf(action), this.#step)
        if (round >= step) continue
        for (let at = 1 + ((this.seed + round) % step); ; at += step) {
          if (isOver() || this.#isLate) return
          const effects = yield { action, at }
          if (effects !== null) {
            // A run may have some more or fewer than another one.
            this.#effects.set(action, Math.max(effects, this.#effects.get(action) ?? 0, this.#last.get(action) ?? 0))
            break
          }
          this.#kills++
          this.#last.set(action, Math.max(at, this.#last.get(action) ?? 0))
          this.#asked.tell(`${action}, killed at ${at}: ${this.#progress(actions)}`)
        }
      }
    }
  }

  /** On a slow machine there are fewer. */
  get #isLate(): boolean {
    return !this.#asked.isAll && this.#kills >= this.killsMin && performance.now() - this.#began > newKillsForMs
  }

  /** How many effects an action has is known once its first round is over. */
  #progress(actions: ReadonlyArray<string>): string {
    const seconds = (performance.now() - this.#began) / 1000
    const rate = `${((60 * this.#kills) / seconds).toFixed(1)} a minute`
    const all = this.#effectsOf(actions)
    if (all === null) return `${this.#kills} kills, ${rate}`
    const left = Math.max(0, all - this.#kills)
    return `${this.#kills} of ${all} kills, ${rate}, ends in ${Math.round((left * seconds) / this.#kills)} s`
  }

  /** Null: not all are known. */
  #effectsOf(actions: ReadonlyArray<string>): number | null {
    return actions.every((action) => this.#effects.has(action))
      ? actions.reduce((sum, action) => sum + this.#effects.get(action)!, 0)
      : null
  }

  /** For the report of the test. */
  note({ task }: Pick<TestContext, "task">, actions: ReadonlyArray<string>): void {
    const effects = this.#effectsOf(actions)
    task.meta.kills = { kills: this.#kills, effects, seed: this.seed }
  }
}
