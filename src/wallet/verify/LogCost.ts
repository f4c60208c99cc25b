/**
 * The cost of one Sandbox or snapshot, computed from its log alone: integrates each run and the life of the volume or image over the rate cards, in exact
 * integers. It knows no segments, frontiers or postings, and shares no code with `Fold.ts`, so that it is an independent check.
 *
 * @source contract-details.md "Usage and credit"
 */
import { isGone, isReady, isStored, isUp } from "../billedStates.ts"
import type { RateCard } from "../RateCard.ts"

export interface Sizes {
  /** With tenths. */
  readonly vcpus: number
  readonly memoryBytes: number
  readonly volumeBytes: number
}

/** A transition. Times are epoch milliseconds. */
export interface LogLine {
  readonly revision: number
  readonly at: number
  readonly from: string | null
  readonly to: string
  /** When the runtime was last seen alive, according to its end. */
  readonly seenAt: number | null
  /** From a change of its sizes: those from here on. */
  readonly sizes: Sizes | null
}

/** Usage up to an instant. */
export interface Usage {
  /** Exact: ms × nano-USD per second × thousandths of a vCPU, or bytes. */
  readonly sums: { readonly vcpu: bigint; readonly memory: bigint; readonly volume: bigint }
  /** Whole micro-USD. */
  readonly microUsd: { readonly vcpu: bigint; readonly memory: bigint; readonly volume: bigint }
  readonly runningMs: number
  readonly volumeMs: number
}

const nanosInAMicro = 1000n
const millisInASecond = 1000n
const bytesInAGib = 1024n ** 3n
const thousandths = 1000

/** Nano-USD × ms per second, over all cards in force, for one vCPU or GiB. */
const weigh = (from: number, to: number, cards: ReadonlyArray<RateCard>, rate: (card: RateCard) => bigint): bigint => {
  let sum = 0n
  for (let i = cards.length - 1; i >= 0; i--) {
    const card = cards[i]!
    const begins = Math.max(from, card.effectiveAt)
    const ends = Math.min(to, cards[i + 1]?.effectiveAt ?? to)
    if (ends > begins) sum += BigInt(ends - begins) * rate(card)
    if (card.effectiveAt <= from) break
  }
  return sum
}

export class LogCost {
  sizes: Sizes
  readonly #cards: ReadonlyArray<RateCard>
  readonly #isSnapshot: boolean
  #vcpu = 0n
  #memory = 0n
  #volume = 0n
  #runningMs = 0
  #volumeMs = 0
  /** The latest instant so far; an earlier one counts as this one. */
  changedAt = 0
  runSince: number | null = null
  volumeSince: number | null = null
  deletedAt: number | null = null

  /** @param cards In ascending order. */
  constructor(sizes: Sizes, cards: ReadonlyArray<RateCard>, isSnapshot: boolean) {
    this.#isSnapshot = isSnapshot
    this.sizes = sizes
    this.#cards = cards
  }

  /** Whether a transition changes what the Sandbox or snapshot costs. */
  isPriced({ from, to, sizes }: LogLine): boolean {
    if (this.#isSnapshot) return from !== to && (isReady(to) || (this.volumeSince !== null && !isStored(to)))
    if (sizes !== null && this.volumeSince !== null) return true
    return from !== to && (isUp(from) || isUp(to) || (isGone(to) && this.volumeSince !== null))
  }

  /** The next line. */
  add({ at, from, to, seenAt, sizes }: LogLine): void {
    const instant = Math.max(this.changedAt, at)
    this.changedAt = instant
    if (sizes !== null && this.deletedAt === null) this.#resize(instant, sizes)
    if (from === to || this.deletedAt !== null) return
    if (this.runSince !== null) {
      const seen = seenAt === null ? instant : Math.max(Math.min(Math.floor(seenAt), instant), this.runSince)
      this.#run(this.runSince, seen)
      this.runSince = null
    }
    if (isUp(to)) {
      this.runSince = instant
      this.volumeSince ??= instant
    }
    if (this.#isSnapshot && isReady(to)) this.volumeSince ??= instant
    if (this.volumeSince !== null && (this.#isSnapshot ? !isStored(to) : isGone(to))) {
      this.#keep(this.volumeSince, instant)
      this.volumeSince = null
      this.deletedAt = instant
    }
  }

  /** Continues the present run and volume up to here. No line can be added afterwards. */
  upTo(at: number): Usage {
    if (this.runSince !== null) this.#run(this.runSince, at)
    if (this.volumeSince !== null) this.#keep(this.volumeSince, at)
    return {
      sums: { vcpu: this.#vcpu, memory: this.#memory, volume: this.#volume },
      microUsd: {
        vcpu: this.#vcpu / (nanosInAMicro * millisInASecond * BigInt(thousandths)),
        memory: this.#memory / (nanosInAMicro * millisInASecond * bytesInAGib),
        volume: this.#volume / (nanosInAMicro * millisInASecond * bytesInAGib)
      },
      runningMs: this.#runningMs,
      volumeMs: this.#volumeMs
    }
  }

  /** Charges run and volume up to here at the sizes so far. */
  #resize(instant: number, sizes: Sizes): void {
    if (this.runSince !== null) {
      this.#run(this.runSince, instant)
      this.runSince = instant
    }
    if (this.volumeSince !== null) {
      this.#keep(this.volumeSince, instant)
      this.volumeSince = instant
    }
    this.sizes = sizes
  }

  #run(from: number, to: number): void {
    this.#runningMs += to - from
    this.#vcpu +=
      BigInt(Math.round(this.sizes.vcpus * thousandths)) *
      weigh(from, to, this.#cards, (card) => card.vcpuSecondNanoUsd)
    this.#memory += BigInt(this.sizes.memoryBytes) * weigh(from, to, this.#cards, (card) => card.memoryGibSecondNanoUsd)
  }

  #keep(from: number, to: number): void {
    this.#volumeMs += to - from
    const weight = weigh(from, to, this.#cards, (card) =>
      this.#isSnapshot ? card.snapshotGibSecondNanoUsd : card.volumeGibSecondNanoUsd
    )
    this.#volume += BigInt(this.sizes.volumeBytes) * weight
  }
}
