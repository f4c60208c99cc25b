/**
 * The service ends at one of its effects, and a new one starts: a sample of all effects, another one each time. `sweep.ts` has the whole sweep.
 * ATOLL_SWEEP_RUNS=N: so many; ATOLL_SWEEP_SEED: the seed that a run printed; ATOLL_SWEEP_ONLY, ATOLL_SWEEP_AT: these scenarios, one effect.
 */
import { existsSync, writeSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { state } from "../../../src/proofs/Proved.ts"
import type { Strike } from "../../support/crash/effects/CrashLife.ts"
import type { Reference } from "../../support/crash/effects/CrashRun.ts"
import counts from "../../support/crash/effects/counts.json" with { type: "json" }
import frozenCounts from "../../support/crash/effects/frozenCounts.json" with { type: "json" }
import { drainForgotten } from "../../support/crash/effects/frozenPlants.ts"
import { MetEffects } from "../../support/crash/effects/MetEffects.ts"
import {
  keyRevokedInMemory,
  noSpool,
  noTransactions,
  nothingRepeated,
  type Plant,
  replyBeforeCommit,
  revokedBeforeCommit,
  writtenBeforeGuest
} from "../../support/crash/effects/plants.ts"
import { scenarios } from "../../support/crash/effects/scenarios/every.ts"
import type { Scenario } from "../../support/crash/effects/scenarios/Scenario.ts"
import { lineOf, type Swept, strikeNames, sweepOver, targetsOf } from "../../support/crash/effects/sweepOver.ts"

const asked = (name: string): string | undefined => process.env[`ATOLL_SWEEP_${name}`] || undefined

const runs = Number(asked("RUNS") ?? 8)
const endAt = performance.now() + 1000 * Number(asked("SECONDS") ?? 3600)
const seed = Number(asked("SEED") ?? Date.now() % 1_000_000)
const strike = (asked("STRIKE") ?? "crash") as Strike
const only = asked("ONLY")
const at = asked("AT")
/** The next service ends, too, or the frozen one wakes, at so many effects after that. `some`: in every second run, sooner or later. */
const asksSecond = asked("SECOND") ?? "some"
const secondMax = 30
/** It is there once it shall end. */
const stopFile = asked("STOP")
/** Effects that earlier sweeps have met are left out. */
const met = new MetEffects(asked("SINCE") ?? null)
const chosen = scenarios.filter(({ name }) => only === undefined || only.split(",").includes(name))
const progressEveryMs = 10_000
const whatOf: Readonly<Record<Strike, string>> = {
  crash: "a crash",
  lose: "a lost answer of the database",
  freeze: "a freeze, and a late awakening,"
}

/** Where frozen services are, a wait in real time is one of the run's clock, and fewer things repeat meanwhile. */
const recordedOf = ({ name }: Scenario): number => {
  const all: Readonly<Record<string, number>> = strike === "freeze" ? { ...counts, ...frozenCounts } : counts
  return all[name] ?? 0
}

interface Target {
  readonly scenario: Scenario
  readonly reference: Reference
  readonly effect: string
}

/** Evenly over all, in an order in which any beginning is even, too. */
const sampled = <A>(all: ReadonlyArray<A>, count: number): ReadonlyArray<A> => {
  const step = (1 + Math.sqrt(5)) / 2
  const order = all.map((one, i) => ({ one, place: ((i + 1) * step + seed / 1_000_000) % 1 }))
  return order
    .sort((a, b) => a.place - b.place)
    .slice(0, count)
    .map(({ one }) => one)
}

describe("at each of its effects", () => {
  const { run, reference, strikeAt } = sweepOver()
  const references = new Map<Scenario, Reference>()
  const swept = new Map<Scenario, Swept>()
  const say = (line: string) => void writeSync(1, `${line}\n`)

  const total = () => {
    const all = [...swept.values()]
    const sum = (of: (one: Swept) => number) => all.reduce((before, one) => before + of(one), 0)
    return lineOf(
      {
        scenario: "all",
        effects: sum(({ effects }) => effects),
        strikes: sum(({ strikes }) => strikes),
        exact: sum(({ exact }) => exact),
        absent: sum(({ absent }) => absent),
        violations: all.flatMap(({ violations }) => violations)
      },
      strike
    )
  }
  const table = () => [...[...swept.values()].map((one) => lineOf(one, strike)), total()].forEach(say)
  it("has no fewer effects than were recorded", async () => {
    for (const scenario of chosen) {
      const recorded = recordedOf(scenario)
      let found = await reference(scenario, strike)
      // Two commits may have become one.
      for (let more = 0; more < 2 && found.effects.length < recorded; more++) found = await reference(scenario, strike)
      references.set(scenario, found)
      swept.set(scenario, {
        scenario: scenario.name,
        effects: targetsOf(found, strike).length,
        strikes: 0,
        exact: 0,
        absent: 0,
        violations: []
      })
      assert.isAtLeast(found.effects.length, recorded, `${scenario.name}: counts.json has what was there before`)
    }
  }, 600_000)

  it("the service may end, and nothing is missing, and nothing is done twice", async () => {
    const all = chosen.flatMap((scenario): ReadonlyArray<Target> => {
      const found = references.get(scenario)!
      return targetsOf(found, strike).map((effect) => ({ scenario, reference: found, effect }))
    })
    const isMet = ({ scenario, effect }: Target) => met.has(strike, scenario.name, effect)
    const left = all.filter((one) => !isMet(one))
    const targets = at === undefined ? sampled(left, runs) : all.filter(({ effect }) => effect === at)
    say(`seed ${seed}: ${targets.length} of ${all.length} effects, ${all.length - left.length} were met before`)
    const begun = performance.now()
    let toldAt = begun
    for (const [done, { scenario, reference: found, effect }] of targets.entries()) {
      const now = performance.now()
      if (now > endAt || (stopFile !== undefined && existsSync(stopFile))) break
      if (now - toldAt > progressEveryMs) {
        toldAt = now
        const rate = done / ((now - begun) / 1000)
        const leftSeconds = Math.min((targets.length - done) / rate, (endAt - now) / 1000)
        say(
          `${done} of ${targets.length}, ${rate.toFixed(2)} a second, ends in ${Math.round(leftSeconds)} s; ${total()}`
        )
      }
      const one = swept.get(scenario)!
      const before = one.violations.length
      const { strikes } = one
      const some = done % 2 === 1 ? 1 + ((done * 7 + seed) % secondMax) : 0
      const second = (asksSecond === "some" ? some : Number(asksSecond)) || null
      await strikeAt(one, { scenario, at: effect, reference: found, strike, second })
      if (one.violations.length === before && one.strikes > strikes) met.add(strike, scenario.name, effect)
      for (const violation of one.violations.slice(before)) {
        say(
          `${violation}\nagain: npx node test/system/crash/sweep.ts --strike ${strike} --only "${scenario.name}" --at "${effect}" --second ${second ?? 0}`
        )
      }
    }
    table()
    say(`met, with earlier runs: ${all.filter(isMet).length} of ${all.length}`)
    const sum = (of: (one: Swept) => number) => [...swept.values()].reduce((before, one) => before + of(one), 0)
    state({
      type: "row",
      what: `${swept.size} scenarios, ${whatOf[strike]} at each effect`,
      amount: `${sum(({ effects }) => effects)} effects, ${sum(({ strikes }) => strikes)} ${strikeNames[strike]}`,
      seed: String(seed),
      violations: sum(({ violations }) => violations.length)
    })
    assert.deepStrictEqual(
      [...swept.values()].flatMap(({ violations }) => violations),
      []
    )
  }, 36_000_000)

  const planted: ReadonlyArray<readonly [what: string, plant: Plant, scenario: string, at: string, says: RegExp]> = [
    ["an answer before its commit", replyBeforeCommit, "change", "after reply to labels #1", /does not end as/],
    ["commands that no new service does", nothingRepeated, "cancel", "before kill #1", /pending/],
    ["a charge in several commits", noTransactions, "stop and start", "before insert segments #1", /The ledger/],
    ["an audit log in memory", noSpool, "create", "after reply to create #1", /The audit log has nothing of create/],
    [
      "a file that the guest has later",
      writtenBeforeGuest,
      "files",
      "after reply to write #1",
      /edit was answered 404/
    ],
    [
      "a key revoked in memory",
      keyRevokedInMemory,
      "keys",
      "after reply to revoke #1",
      /what brief may was answered 200/
    ],
    [
      "a grant revoked before its commit",
      revokedBeforeCommit,
      "SSH grant",
      "after reply to revoke #1",
      /revoked was answered 200/
    ],
    [
      "an account that gets its credit later",
      noTransactions,
      "credit",
      "before insert grants #1",
      /before was answered 200/
    ],
    [
      "a drain that no new service goes on with",
      drainForgotten,
      "a host is drained",
      "after commit DRAIN #1",
      /get was answered 200/
    ]
  ]
  it.runIf(stopFile === undefined).each(planted)("a sweep finds %s", async (_, plant, name, at, says) => {
    const scenario = scenarios.find((one) => one.name === name)!
    const once = () => run({ scenario, at, reference: references.get(scenario)!, strike: "crash", plant })
    // As in a sweep: two commits may have become one, and then the effect does not come.
    let { faults, wasStruck } = await once()
    for (let more = 0; more < 2 && !wasStruck; more++) ({ faults, wasStruck } = await once())
    assert.isTrue(wasStruck)
    assert.match(faults.join("\n"), says)
  })
})
