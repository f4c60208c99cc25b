/**
 * Exact cost of running. A component grows by rate × size each millisecond. The sum over a Sandbox's whole life is an integer, and
 * its cost is the sum in micro-USD, rounded down. A piece of that life costs the growth of the rounded sum. So cutting never changes a
 * total, and the parts always add up.
 *
 * @source contract-details.md "Usage and credit"; design.md "Money"
 */
import type { RateCard } from "./RateCard.ts"

export interface PerComponent<A> {
  readonly vcpu: A
  readonly memory: A
  /** Of a Sandbox: its volume. Of a snapshot: what it stores. */
  readonly volume: A
}

/** Of a sum: ms × nano-USD per second × milli-vCPUs or bytes. Of a rate: the same for one millisecond. Of a cost: micro-USD. */
export type Amounts = PerComponent<bigint>

/** Units of a sum in one micro-USD: nano to micro and ms to s, for vCPUs also milli-vCPUs to vCPUs, for bytes also bytes to GiB. */
export const divisors: Amounts = { vcpu: 10n ** 9n, memory: 10n ** 6n * 2n ** 30n, volume: 10n ** 6n * 2n ** 30n }

/** All components in one unit: a micro-USD has `common` of it. */
export const common = divisors.vcpu * 2n ** 30n

/** A size of tenths of a vCPU as an integer. */
export const milliVcpus = (vcpus: number): bigint => BigInt(Math.round(vcpus * 1000))

export const nothing: Amounts = { vcpu: 0n, memory: 0n, volume: 0n }

export const eachComponent = (value: (component: keyof Amounts) => bigint): Amounts => ({
  vcpu: value("vcpu"),
  memory: value("memory"),
  volume: value("volume")
})

export const total = ({ vcpu, memory, volume }: Amounts): bigint => vcpu + memory + volume

/** What a Sandbox is allotted. */
export interface Sizes {
  /** With tenths. */
  readonly vcpus: number
  readonly memoryBytes: number
  readonly volumeBytes: number
}

/** The properties of a Sandbox or of a snapshot that determine its cost. */
export interface Burning extends Sizes {
  /** Of a snapshot: of which Sandbox it is; what it stores has the rate of snapshots. Null: a Sandbox. */
  readonly snapshotOf: string | null
  readonly isRunning: boolean
  readonly hasVolume: boolean
}

const storageRate = (card: RateCard, { snapshotOf }: Pick<Burning, "snapshotOf">): bigint =>
  snapshotOf === null ? card.volumeGibSecondNanoUsd : card.snapshotGibSecondNanoUsd

/** `storageRate` in SQL: of a meter, at a rate card. */
export const storageRateOf = (meter: string, card: string): string =>
  `(case when ${meter}.snapshot_of is null then ${card}.volume_gib_second_nano_usd else ${card}.snapshot_gib_second_nano_usd end)::numeric`

/** Growth of the sums in one millisecond. */
export const ratesOf = (card: RateCard | null, burning: Burning): Amounts => ({
  vcpu: card !== null && burning.isRunning ? card.vcpuSecondNanoUsd * milliVcpus(burning.vcpus) : 0n,
  memory: card !== null && burning.isRunning ? card.memoryGibSecondNanoUsd * BigInt(burning.memoryBytes) : 0n,
  volume: card !== null && burning.hasVolume ? storageRate(card, burning) * BigInt(burning.volumeBytes) : 0n
})

/** The sums after so many milliseconds. */
export const sumsAfter = (sums: Amounts, rates: Amounts, ms: number): Amounts => {
  const by = BigInt(ms)
  return {
    vcpu: sums.vcpu + rates.vcpu * by,
    memory: sums.memory + rates.memory * by,
    volume: sums.volume + rates.volume * by
  }
}

/** Micro-USD between two states of the same sums. */
export const costBetween = (before: Amounts, after: Amounts): Amounts => ({
  vcpu: after.vcpu / divisors.vcpu - before.vcpu / divisors.vcpu,
  memory: after.memory / divisors.memory - before.memory / divisors.memory,
  volume: after.volume / divisors.volume - before.volume / divisors.volume
})

/** A piece of a Sandbox's life in which its rates did not change. */
export interface Piece {
  /** Epoch milliseconds; `to` is exclusive. */
  readonly from: number
  readonly to: number
  /** -1: reverses a posted part of a run that had already ended. */
  readonly sign: 1 | -1
  /** At `from`. */
  readonly sums: Amounts
  readonly rates: Amounts
}

/** Signed micro-USD of the piece within a window; the costs of adjacent windows add up. */
export const costWithin = (piece: Piece, from: number, to: number): Amounts => {
  const start = Math.max(piece.from, from)
  const end = Math.min(piece.to, to)
  if (start >= end) return nothing
  const cost = costBetween(
    sumsAfter(piece.sums, piece.rates, start - piece.from),
    sumsAfter(piece.sums, piece.rates, end - piece.from)
  )
  return piece.sign === 1 ? cost : { vcpu: -cost.vcpu, memory: -cost.memory, volume: -cost.volume }
}
