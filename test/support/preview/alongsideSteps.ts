/** What may happen to the previews of one Sandbox, as data. The acts of a round run concurrently; rounds follow each other. */
import fc from "fast-check"

export type Act =
  | { readonly type: "open"; readonly port: number; readonly alongside: boolean }
  /** One of the previews that were acknowledged before the round: of the open ones, or of all. */
  | { readonly type: "close"; readonly index: number; readonly isOpen: boolean }
  | { readonly type: "lookUp"; readonly port: number; readonly isOther: boolean }
  | { readonly type: "closeAll" | "list" | "hour" | "stop" | "start" | "die" }

export interface Timed {
  readonly act: Act
  /** Of the event loop, until it begins. */
  readonly turns: number
  /** By the second listener, which has its own leases. */
  readonly bySecond: boolean
}

export type Round = ReadonlyArray<Timed>

const firstPort = 3000
/** More than may be open. */
const ports = 20

/** Few of them, so that acts meet. */
const port = fc.nat(5).map((at) => firstPort + at)

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ type: fc.constant("open" as const), port, alongside: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant("close" as const), index: fc.nat(20), isOpen: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant("lookUp" as const), port, isOther: fc.boolean() }) },
  { weight: 3, arbitrary: fc.constant({ type: "list" as const }) },
  ...(["closeAll", "hour", "stop", "start", "die"] as const).map((type) => ({
    weight: 1,
    arbitrary: fc.constant({ type })
  }))
)

const timed = (act: fc.Arbitrary<Act>) => fc.record({ act, turns: fc.nat(60), bySecond: fc.boolean() })

const mixed = fc.array(timed(act), { minLength: 1, maxLength: 10 })

/** A rush for the places: each alongside the others, or each alone. */
const rush = fc
  .record({
    count: fc.integer({ min: 2, max: ports }),
    alongside: fc.boolean(),
    others: fc.array(timed(act), { maxLength: 3 })
  })
  .map(({ count, alongside, others }) => [
    ...others,
    ...Array.from(
      { length: count },
      (_, at): Timed => ({
        act: { type: "open", port: firstPort + at, alongside },
        turns: 0,
        bySecond: at % 2 === 1
      })
    )
  ])

export const rounds: fc.Arbitrary<ReadonlyArray<Round>> = fc.array(
  fc.oneof({ weight: 3, arbitrary: mixed }, { weight: 1, arbitrary: rush }),
  { minLength: 2, maxLength: 7 }
)
