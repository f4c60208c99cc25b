/** Mending a guest's clock, on a simulated guest whose counter runs at another rate. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Logger, Metric } from "effect"
import { TestClock } from "effect/testing"
import { type Adjustment, correction } from "../../../../src/host/qemu/clockAdjustment.ts"
import { type WatchedClock, watchClock } from "../../../../src/host/qemu/watchClock.ts"

const EPOCH_MS = 1e12
const STEP_MS = 500
const TRIP_MS = 4
const NOMINAL: Adjustment = { tickUs: 10_000, frequency: 0 }

const rateOf = ({ tickUs, frequency }: Adjustment) => tickUs / 10_000 + frequency / 65_536e6

interface Guest {
  /** Of its counter. */
  readonly rate: number
  readonly adjustment?: Adjustment
  /** Root in the guest undoes every change. */
  readonly isStubborn?: boolean
  /** Its boot port answers nothing but the time. */
  readonly isOld?: boolean
}

/** Runs a watch beside its guest for that long. */
const watched = (guest: Guest, forMs: number, endAtMs = Number.POSITIVE_INFINITY) =>
  Effect.gen(function* () {
    const testClock = yield* Clock.Clock
    const now = () => testClock.currentTimeMillisUnsafe()
    let adjustment = guest.adjustment ?? NOMINAL
    let monotonicMs = 0
    let epochMs = EPOCH_MS + now()
    let at = now()
    let offsetMaxMs = 0
    const goOn = () => {
      const passed = (now() - at) * guest.rate * rateOf(adjustment)
      at = now()
      monotonicMs += passed
      epochMs += passed
      offsetMaxMs = Math.max(offsetMaxMs, Math.abs(epochMs - EPOCH_MS - now()))
    }
    const setTime = async () => {
      goOn()
      sets.push(now())
      epochMs = EPOCH_MS + now()
    }
    const sets: Array<number> = []
    const reads: Array<number> = []
    const adjustments: Array<Adjustment> = []
    const lines: Array<string> = []
    const clock: WatchedClock = {
      sandboxId: "watched",
      read: Effect.sync(() => {
        goOn()
        // As unfavourable as the round trip allows: at the beginning of a window the guest reads at the request, and
        // later at the answer.
        const aside = now() - (reads.at(-1) ?? 0) < STEP_MS ? -TRIP_MS / 2 : TRIP_MS / 2
        reads.push(now())
        return {
          ...{ sentAt: now() - TRIP_MS / 2, heardAt: now() + TRIP_MS / 2, epochAtZero: EPOCH_MS },
          ...{ guestMonotonicMs: monotonicMs + aside * guest.rate, guestEpochMs: epochMs + aside }
        }
      }),
      setTime,
      adjustment: async () => {
        if (guest.isOld) throw new Error("The guest did not answer")
        return adjustment
      },
      adjust: async (better) => {
        goOn()
        adjustments.push(better)
        if (!guest.isStubborn) adjustment = better
        await setTime()
      },
      isWanted: () => now() < endAtMs
    }
    const mendedBefore = yield* ratesMended
    const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
    const fiber = yield* Effect.forkChild(Effect.provide(watchClock(clock), logger))
    let isOver = false
    fiber.addObserver(() => {
      isOver = true
    })
    for (let passed = 0; passed < forMs && !isOver; passed += STEP_MS) {
      yield* TestClock.adjust(STEP_MS)
      // The simulated guest answers with promises.
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    }
    const endedAt = now()
    yield* Fiber.interrupt(fiber)
    goOn()
    return {
      ...{ sets, reads, adjustments, lines, isOver, endedAt, offsetMaxMs },
      rate: guest.rate * rateOf(adjustment),
      offsetMs: epochMs - EPOCH_MS - now(),
      mended: (yield* ratesMended) - mendedBefore
    }
  })

const ratesMended = Effect.map(Metric.snapshot, (all) => {
  const found = all.find(({ id }) => id === "atoll_guest_clock_rates_mended_total")
  return found === undefined ? 0 : Number((found.state as { readonly count: number | bigint }).count)
})

describe("the adjustment of a clock", () => {
  it("compensates the rate, together with earlier adjustments", () => {
    for (const current of [NOMINAL, { tickUs: 9_950, frequency: 3_000_000 }, { tickUs: 11_000, frequency: -77 }]) {
      for (let counter = 0.9095; counter < 1.11; counter += 0.00037) {
        const better = correction(current, counter * rateOf(current))
        expect(Math.abs(counter * rateOf(better!) - 1)).toBeLessThan(1e-9)
      }
    }
    expect(correction({ tickUs: 9_500, frequency: 0 }, 0.95)).toEqual(NOMINAL)
  })

  it("is none where the kernel cannot go so far", () => {
    for (const rate of [0.9, 1.12, 0.5, 4, 0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(correction(NOMINAL, rate)).toBeNull()
    }
  })
})

describe("the watch over a clock", () => {
  it.effect("leaves a right clock alone", () =>
    Effect.gen(function* () {
      const seen = yield* watched({ rate: 1.0002 }, 300_000)
      expect(seen).toMatchObject({ isOver: true, sets: [], adjustments: [], lines: [], mended: 0 })
    })
  )

  for (const guest of [
    { rate: 0.95 },
    { rate: 1.0035 },
    { rate: 1.09 },
    { rate: 1, adjustment: { tickUs: 9_400, frequency: -1_000_000 } }
  ]) {
    it.effect(
      `mends a clock that runs at ${guest.rate} of the host's${guest.adjustment ? ", slowed by its root" : ""}`,
      () =>
        Effect.gen(function* () {
          const seen = yield* watched(guest, 600_000)
          expect(Math.abs(seen.rate - 1)).toBeLessThan(0.001)
          expect(Math.abs(seen.offsetMs)).toBeLessThan(100)
          expect(seen.adjustments).toHaveLength(1)
          expect(seen).toMatchObject({ isOver: true, mended: 1 })
          expect(seen.lines).toEqual([expect.stringContaining("it runs right now")])
        })
    )
  }

  for (const rate of [0.4, 2, 4.5]) {
    it.effect(`sets the time again and again, at a bounded rate, of a clock that runs at ${rate} of the host's`, () =>
      Effect.gen(function* () {
        const seen = yield* watched({ rate }, 600_000, 400_000)
        expect(seen.adjustments).toEqual([])
        expect(seen.mended).toBe(0)
        expect(seen.lines).toEqual([expect.stringContaining("Stop and start the Sandbox")])
        expect(seen.sets.length).toBeGreaterThan(30)
        expect(seen.sets.length).toBeLessThanOrEqual(40)
        // Ten seconds of a clock that runs so.
        expect(Math.abs(seen.offsetMs)).toBeLessThan(20_000 * Math.abs(rate - 1) + 1_000)
        // It ends with its machine.
        expect(seen.isOver).toBe(true)
        expect(seen.endedAt).toBeLessThan(411_000)
      })
    )
  }

  it.effect("gives up a guest that undoes every adjustment, and reads its clock seldom from then on", () =>
    Effect.gen(function* () {
      const seen = yield* watched({ rate: 0.95, isStubborn: true }, 1_200_000)
      expect(seen.adjustments).toHaveLength(3)
      expect(seen.lines).toHaveLength(1)
      expect(seen.sets.length).toBeLessThan(130)
      expect(seen.reads.length).toBeLessThan(200)
      expect(seen.mended).toBe(0)
    })
  )

  it.effect("still sets the time of a guest that supports no adjustment", () =>
    Effect.gen(function* () {
      const seen = yield* watched({ rate: 1.05, isOld: true }, 300_000)
      expect(seen.lines).toEqual([expect.stringContaining("could not adjust")])
      expect(Math.abs(seen.offsetMs)).toBeLessThan(2_500)
    })
  )
})
