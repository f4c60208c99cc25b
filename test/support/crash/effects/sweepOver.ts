/** Sweeps: a scenario is run once as it is, and then once for each of its effects, at which the service ends or the database's answer is lost. */
import { Context, ManagedRuntime } from "effect"
import type { SqlClient } from "effect/sql"
import { afterAll, beforeAll } from "vitest"
import { TestDatabase } from "../../TestDatabase.ts"
import type { Strike } from "./CrashLife.ts"
import { CrashRun, type Reference, type RunResult } from "./CrashRun.ts"
import type { Plant } from "./plants.ts"
import type { Scenario } from "./scenarios/Scenario.ts"

/** In real time another order may come, in which an effect is missing. */
const triesMax = 3

export interface Asked {
  readonly scenario: Scenario
  /** Null: the run as it is. */
  readonly at: string | null
  readonly reference: Reference | null
  readonly strike: Strike
  readonly plant?: Plant | null
  readonly second?: number | null
}

/** What was seen at the effects of one scenario. */
export interface Swept {
  readonly scenario: string
  readonly effects: number
  strikes: number
  /** Runs in which everything before the strike came in the recorded order. */
  exact: number
  /** Effects that are in no other run without a strike either: how often something is done by the clock is not fixed. */
  absent: number
  readonly violations: Array<string>
}

/** Of which an answer can be lost: it is committed. */
const isCommit = (effect: string): boolean => /^after (commit |COMMIT |insert |update |delete )/.test(effect)

export const targetsOf = ({ effects }: Reference, strike: Strike): ReadonlyArray<string> =>
  strike === "lose" ? effects.filter(isCommit) : effects

export const strikeNames: Readonly<Record<Strike, string>> = {
  crash: "crashes",
  lose: "lost answers",
  freeze: "freezes"
}

export const lineOf = ({ scenario, effects, strikes, exact, absent, violations }: Swept, strike: Strike): string => {
  const gone = absent === 0 ? "" : `, ${absent} effects of one run only`
  return `${scenario}: ${effects} effects, ${strikes} ${strikeNames[strike]} (${exact} in exactly the recorded order)${gone}, ${violations.length} violations`
}

/** Registers the database's set-up with the test file. */
export const sweepOver = () => {
  const runtime = ManagedRuntime.make(TestDatabase.layer)
  let database: Context.Context<SqlClient.SqlClient | TestDatabase>

  beforeAll(async () => {
    database = await runtime.context()
  })
  afterAll(() => runtime.dispose())

  const run = ({ at, plant = null, second = null, ...asked }: Asked): Promise<RunResult> =>
    CrashRun.of({
      ...asked,
      plant,
      second,
      target: at,
      database,
      databaseName: Context.get(database, TestDatabase).name
    })

  /** Faults of the run itself are faults of the sweep. */
  const reference = async (scenario: Scenario, strike: Strike = "crash"): Promise<Reference> => {
    const { faults, reference } = await run({ scenario, at: null, reference: null, strike })
    if (faults.length > 0) throw new Error(`${scenario.name} fails without a strike: ${faults.join("\n")}`)
    return reference
  }

  /** One strike, noted in `swept`. */
  const strikeAt = async (swept: Swept, { at, reference, ...asked }: Asked & { at: string; reference: Reference }) => {
    const { scenario, second } = asked
    for (let tries = 0; tries < triesMax; tries++) {
      const result = await run({ ...asked, at, reference })
      if (!result.wasStruck && result.faults.length === 0) continue
      swept.strikes += Number(result.wasStruck)
      const before = reference.effects.slice(0, reference.effects.indexOf(at) + 1)
      swept.exact += Number(result.reference.effects.slice(0, before.length).join() === before.join())
      if (result.faults.length > 0)
        swept.violations.push(
          `${scenario.name}, ${at}${second ? `, then ${second}` : ""}: ${result.faults.join("\n  ")}`
        )
      return
    }
    const again = await run({ scenario, at: null, reference: null, strike: asked.strike })
    if (again.faults.length === 0 && !again.reference.effects.includes(at)) swept.absent += 1
    else swept.violations.push(`${scenario.name}: ${at} did not come again in ${triesMax} runs`)
  }

  return { run, reference, strikeAt }
}
