import { describe, expect, it } from "vitest"
import { foldLifecycle } from "../../../../src/observe/analytics/LifecycleFold.ts"
import type { LogEntry } from "../../../../src/store/Actors.ts"

const log = (
  ...steps: ReadonlyArray<readonly [at: number, from: string | null, to: string, event?: string]>
): ReadonlyArray<LogEntry> =>
  steps.map(([at, from, to, type], index) => ({
    revision: index + 1,
    at,
    event: { type: type ?? "X" },
    from,
    to,
    commands: [],
    stillPending: [],
    cause: "test",
    requestId: null
  }))

const twoBoots = log(
  [0, null, "pending"],
  [1000, "pending", "running", "RUNTIME_UP"],
  [11_000, "running", "stopping", "STOP"],
  [12_000, "stopping", "stopped"],
  [20_000, "stopped", "pending", "START"],
  [21_000, "pending", "running", "RUNTIME_UP"]
)

describe("foldLifecycle", () => {
  it("counts boots and running time, and a run that goes on up to the end of the window", () => {
    const { boots, runningSeconds } = foldLifecycle(twoBoots, { from: 0, to: 31_000 }, null)
    expect([boots, runningSeconds]).toEqual([2, 20])
  })

  it("cuts runs at both ends of the window", () => {
    expect(foldLifecycle(twoBoots, { from: 6000, to: 26_000 }, null).runningSeconds).toBe(10)
    expect(foldLifecycle(twoBoots, { from: 12_500, to: 13_000 }, null)).toEqual({
      boots: 0,
      runningSeconds: 0,
      transitions: []
    })
  })

  it("separates generations", () => {
    expect(foldLifecycle(twoBoots, { from: 0, to: 31_000 }, 1)).toMatchObject({ boots: 1, runningSeconds: 10 })
    expect(foldLifecycle(twoBoots, { from: 0, to: 31_000 }, 2)).toMatchObject({ boots: 1, runningSeconds: 10 })
    expect(foldLifecycle(twoBoots, { from: 0, to: 31_000 }, 3)).toMatchObject({ boots: 0, runningSeconds: 0 })
  })

  it("takes a wake from sleep for the same boot", () => {
    const slept = log(
      [0, null, "pending"],
      [1000, "pending", "running"],
      [2000, "running", "sleeping", "SLEEP"],
      [5000, "sleeping", "pending", "START"],
      [6000, "pending", "running"]
    )
    expect(foldLifecycle(slept, { from: 0, to: 7000 }, 1)).toMatchObject({ boots: 1, runningSeconds: 2 })
  })

  it("omits steps that change no status", () => {
    const steps = foldLifecycle(
      log([0, null, "pending"], [1, "stopping", "stopping", "START"]),
      { from: 0, to: 10 },
      null
    )
    expect(steps.transitions.map((step) => step.to)).toEqual(["pending"])
  })
})
