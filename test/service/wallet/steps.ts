/**
 * What may happen to an account's money, as data: random lives of Sandboxes and of a snapshot, grants, rates, and postings in between.
 */
import fc from "fast-check"
import type { Sizes } from "../../../src/wallet/Cost.ts"
import type { GrantKind } from "../../../src/wallet/Grant.ts"

export type Step =
  | { readonly type: "wait"; readonly ms: number }
  /**
   * One of the states that may follow; its instant is off the clock by `skewMs`, and it may carry when the machine was
   * last seen alive.
   */
  | {
      readonly type: "move"
      readonly sandbox: number
      readonly choice: number
      readonly skewMs: number
      readonly seenMsAgo: number | null
    }
  | { readonly type: "fold"; readonly sandbox: number }
  | { readonly type: "resize"; readonly sandbox: number; readonly sizes: Sizes; readonly skewMs: number }
  | { readonly type: "settle"; readonly msAgo: number }
  | { readonly type: "balance" }
  | {
      readonly type: "grant"
      readonly kind: GrantKind
      readonly microUsd: bigint
      readonly inMs: number
      readonly forMs: number | null
    }
  | {
      readonly type: "rates"
      readonly vcpu: bigint
      readonly memory: bigint
      readonly volume: bigint
      readonly snapshot: bigint
      readonly inMs: number
    }

export interface Scenario {
  /** No late event, no wrong clock. */
  readonly isPunctual: boolean
  readonly startAt: number
  readonly sizes: ReadonlyArray<Sizes>
  readonly steps: ReadonlyArray<Step>
}

/** The last of these lives is that of a snapshot of the first one. */
export const sandboxes = 5

/** From a millisecond to weeks, short and long ones equally likely. */
const duration = fc
  .tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 999 }))
  .map(([power, more]) => Math.floor(2 ** power * (1 + more / 1000)))

const amount = fc
  .tuple(fc.integer({ min: 0, max: 36 }), fc.integer({ min: 0, max: 999 }))
  .map(([power, more]) => BigInt(Math.floor(2 ** power * (1 + more / 1000))))

const sandbox = fc.integer({ min: 0, max: sandboxes - 1 })
const rate = fc.oneof(fc.constant(0n), fc.bigInt(1n, 100n), fc.bigInt(1000n, 5_000_000n))

const move = fc.record({
  type: fc.constant("move" as const),
  sandbox,
  choice: fc.nat(9),
  skewMs: fc.oneof(
    { weight: 5, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.integer({ min: -20_000, max: 0 }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 5_000 }) },
    { weight: 1, arbitrary: duration.map((ms) => -ms) }
  ),
  seenMsAgo: fc.option(fc.oneof(duration, fc.constant(0.5)), { freq: 3 })
})

const size = fc.record({
  vcpus: fc.integer({ min: 1, max: 640 }).map((tenths) => tenths / 10),
  memoryBytes: fc.oneof(fc.constant(2 ** 30), fc.integer({ min: 1, max: 2 ** 38 })),
  volumeBytes: fc.oneof(fc.constant(2 ** 30), fc.integer({ min: 1, max: 2 ** 40 }))
})

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("wait" as const), ms: duration }) },
  { weight: 14, arbitrary: move },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("fold" as const), sandbox }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("settle" as const), msAgo: fc.oneof(fc.constant(0), duration) })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("resize" as const),
      sandbox,
      sizes: size,
      skewMs: fc.oneof(fc.constant(0), fc.integer({ min: -20_000, max: 5_000 }))
    })
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("balance" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("grant" as const),
      kind: fc.constantFrom("promotional" as const, "purchase" as const, "adjustment" as const),
      microUsd: amount.map((micro) => micro + 1n),
      inMs: fc.oneof(fc.constant(0), duration),
      forMs: fc.option(
        duration.map((ms) => ms + 1),
        { freq: 3 }
      )
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("rates" as const),
      vcpu: rate,
      memory: rate,
      volume: rate,
      snapshot: rate,
      inMs: fc.oneof(fc.constant(0), duration)
    })
  }
)

export const scenarios = (stepsMax: number): fc.Arbitrary<Scenario> =>
  fc.record({
    isPunctual: fc.boolean(),
    startAt: fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 }),
    sizes: fc.array(size, { minLength: sandboxes, maxLength: sandboxes }),
    steps: fc.array(step, { minLength: 1, maxLength: stepsMax, size: "max" })
  })
