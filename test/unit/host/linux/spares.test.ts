/** When spares are made: between the boots of Sandboxes that have an owner. How many: as many as were asked for lately. */
import { setImmediate } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Spares } from "../../../../src/host/linux/Spares.ts"
import { untilSeen } from "../../../support/until.ts"

const spares = (max: number, onMade: () => void = () => {}) => {
  const state = { busy: false, asked: 0, made: 0 }
  const all = new Spares<string, number>({
    min: max,
    refillAfterMs: 1,
    isBusy: () => {
      state.asked++
      return state.busy
    },
    make: () =>
      Effect.sync(() => {
        state.made++
        onMade()
        return state.made
      }),
    discard: () => Effect.void,
    ended: () => new Promise(() => {}),
    fork: Effect.runFork
  })
  const refill = () => Effect.runPromise(all.refill("shape"))
  const askedMore = () => {
    const before = state.asked
    return untilSeen(
      () => state.asked,
      (asked) => asked > before + 3,
      { withinMs: 10_000 }
    )
  }
  const untilMade = (count: number) =>
    untilSeen(
      () => state.made,
      (made) => made === count,
      { withinMs: 10_000 }
    )
  return { all, state, refill, askedMore, untilMade }
}

describe("the refill of spares", () => {
  it("waits while Sandboxes boot, and then makes all that are missing", async () => {
    const { state, refill, askedMore, untilMade } = spares(3)
    state.busy = true
    await refill()
    await askedMore()
    expect(state.made).toBe(0)
    state.busy = false
    await untilMade(3)
  })

  it("stops after the spare during which boots began, and continues after them", async () => {
    const { state, refill, askedMore, untilMade } = spares(3, () => {
      state.busy = true
    })
    await refill()
    for (const count of [1, 2, 3]) {
      await untilMade(count)
      if (count < 3) await askedMore()
      expect(state.made).toBe(count)
      state.busy = false
    }
  })

  it("makes none where there shall be none, however many are asked for", async () => {
    const { all, state, refill } = spares(0)
    for (let asked = 0; asked < 3; asked++) expect(await Effect.runPromise(all.claim("shape"))).toBeNull()
    await refill()
    await setImmediate()
    expect([state.asked, state.made]).toEqual([0, 0])
  })

  it("is under way once, however often it is asked for, and ends with the service", async () => {
    const { all, state, refill, askedMore, untilMade } = spares(2)
    await Promise.all(Array.from({ length: 20 }, refill))
    await untilMade(2)
    expect(state.asked).toBeLessThan(10)
    expect(await Effect.runPromise(all.claim("shape"))).toBe(1)
    state.busy = true
    await refill()
    await askedMore()
    await Effect.runPromise(all.close)
    await refill()
    const before = state.asked
    state.busy = false
    await untilSeen(
      () => state.asked,
      (asked) => asked > before
    )
    await setImmediate()
    expect(state.made).toBe(2)
  })
})

describe("the number of spares", () => {
  const atRest = 2
  const most = 5

  /** Each is made and discarded within the effect that asks for it, apart from its delay. */
  const counted = Effect.map(Effect.context<never>(), (context) => {
    const ready = new Set<number>()
    let made = 0
    const all = new Spares<string, number>({
      min: atRest,
      max: most,
      refillAfterMs: 0,
      make: () =>
        Effect.sync(() => {
          ready.add(++made)
          return made
        }),
      discard: (spare) => Effect.sync(() => void ready.delete(spare)),
      ended: () => new Promise(() => {}),
      fork: Effect.runForkWith(context)
    })
    const settled = Effect.gen(function* () {
      yield* all.refill("shape")
      yield* TestClock.adjust("1 milli")
      for (let turn = 0; turn < 100; turn++) yield* Effect.promise(() => setImmediate())
      return ready.size
    })
    const claim = Effect.tap(all.claim("shape"), (spare) => Effect.sync(() => ready.delete(spare ?? 0)))
    return { all, ready, settled, claim }
  })

  it.effect("is what was asked for in ten minutes, within its bounds, and falls again", () =>
    Effect.gen(function* () {
      const { all, ready, settled, claim } = yield* counted
      expect(yield* settled).toBe(atRest)
      for (const wanted of [2, 2, 3, 4, 5, 5, 5]) {
        expect(yield* claim).not.toBeNull()
        expect(yield* settled).toBe(wanted)
      }
      yield* all.dropUnused
      expect(ready.size).toBe(most)
      yield* TestClock.adjust("10 minutes")
      yield* all.dropUnused
      expect(ready.size).toBe(atRest)
      expect(yield* settled).toBe(atRest)
    })
  )
})
