/**
 * Predicts an account's money if nothing changes: pure. The burn is piecewise linear, so the instants at which credit becomes low or
 * exhausted can be computed in advance, without checks in between.
 *
 * Each open meter rounds down separately. With the remainders of each meter the instants are exact. With only their sums, the instant of exhaustion
 * is off by less than one micro-USD for each component of each meter: late, and early only if credit expires before it.
 *
 * @source contract-details.md "Usage and credit"
 */
import { spendingOrder } from "./Allocation.ts"
import {
  type Amounts,
  type Burning,
  common,
  divisors,
  eachComponent,
  milliVcpus,
  nothing,
  sumsAfter,
  total
} from "./Cost.ts"
import { dayMs, type Meter } from "./Fold.ts"
import type { Grant } from "./Grant.ts"
import { least, most } from "./Money.ts"
import { grantsDueAt } from "./Posting.ts"
import { cardAt, type RateCard } from "./RateCard.ts"

export type WalletStatus = "unlimited" | "funded" | "low" | "exhausted"

/** The last instant that a date can name. */
const lastInstant = 8.64e15

/** Amounts, where what snapshots store is apart from volumes: it has another rate. Both count as `volume` in sums and rests. */
interface Units extends Amounts {
  readonly snapshot: bigint
}

/** The sum of an account's open meters at one instant. */
export interface Load {
  /** Micro-USD by which they have grown since their last segments. */
  readonly grownMicroUsd: bigint
  /** The parts below one micro-USD of the growing sums. */
  readonly rests: Amounts
  /** Running milli-vCPUs, bytes of their memory, bytes of all volumes, bytes that all snapshots store. */
  readonly sizes: Units
  /** The number of growing sums; each is rounded down separately. */
  readonly terms: number
  /** The same for each meter; null if only the sums are known. */
  readonly each: ReadonlyArray<{ readonly rests: Amounts; readonly sizes: Units }> | null
}

const noUnits: Units = { ...nothing, snapshot: 0n }

const plus = (a: Units, b: Units): Units => ({
  ...eachComponent((c) => a[c] + b[c]),
  snapshot: a.snapshot + b.snapshot
})

const sizesOf = (burning: Burning): Units => {
  const stored = burning.hasVolume ? BigInt(burning.volumeBytes) : 0n
  return {
    vcpu: burning.isRunning ? milliVcpus(burning.vcpus) : 0n,
    memory: burning.isRunning ? BigInt(burning.memoryBytes) : 0n,
    volume: burning.snapshotOf === null ? stored : 0n,
    snapshot: burning.snapshotOf === null ? 0n : stored
  }
}

/** By how much sums of these sizes grow, at the cost of each unit. */
const growthOf = (sizes: Units, weight: Units): Amounts => ({
  vcpu: sizes.vcpu * weight.vcpu,
  memory: sizes.memory * weight.memory,
  volume: sizes.volume * weight.volume + sizes.snapshot * weight.snapshot
})

/** The size of each sum; 0: it does not grow. */
const sumSizes = (sizes: Units): Amounts => ({ ...sizes, volume: sizes.volume + sizes.snapshot })

/** The cost of one unit of each component between two instants, in the units of the sums. */
const weightBetween = (cards: ReadonlyArray<RateCard>, from: number, to: number): Units => {
  let weight = noUnits
  for (let at = from; at < to; ) {
    const card = cardAt(cards, at)
    const end = cards.reduce(
      (next, { effectiveAt }) => (effectiveAt > at && effectiveAt < next ? effectiveAt : next),
      to
    )
    const rates = unitRates(card)
    const snapshot = weight.snapshot + rates.snapshot * BigInt(end - at)
    weight = { ...sumsAfter(weight, rates, end - at), snapshot }
    at = end
  }
  return weight
}

const unitRates = (card: RateCard | null): Units => ({
  vcpu: card?.vcpuSecondNanoUsd ?? 0n,
  memory: card?.memoryGibSecondNanoUsd ?? 0n,
  volume: card?.volumeGibSecondNanoUsd ?? 0n,
  snapshot: card?.snapshotGibSecondNanoUsd ?? 0n
})

/** A meter ahead of the instant (of a faster clock) has not grown. From then on it counts like the others: too early rather than too late. */
export const loadOf = (meters: ReadonlyArray<Meter>, cards: ReadonlyArray<RateCard>, at: number): Load => {
  let grownMicroUsd = 0n
  let rests = nothing
  let sizes = noUnits
  let terms = 0
  const weights = new Map<number, Units>()
  const each = meters.map((meter) => {
    const weight = weights.get(meter.at) ?? weightBetween(cards, meter.at, at)
    weights.set(meter.at, weight)
    const own = sizesOf(meter)
    const growth = growthOf(own, weight)
    const growing = sumSizes(own)
    const sums = eachComponent((c) => (meter.sums[c] % divisors[c]) + growth[c])
    const ownRests = eachComponent((c) => (growing[c] > 0n ? sums[c] % divisors[c] : 0n))
    grownMicroUsd += sums.vcpu / divisors.vcpu + sums.memory / divisors.memory + sums.volume / divisors.volume
    rests = eachComponent((c) => rests[c] + ownRests[c])
    sizes = plus(sizes, own)
    terms += Number(growing.vcpu > 0n) + Number(growing.memory > 0n) + Number(growing.volume > 0n)
    return { rests: ownRests, sizes: own }
  })
  return { grownMicroUsd, rests, sizes, terms, each }
}

const inCommon = (amounts: Amounts): bigint =>
  amounts.vcpu * (common / divisors.vcpu) +
  amounts.memory * (common / divisors.memory) +
  amounts.volume * (common / divisors.volume)

const burnInCommon = (load: Load, card: RateCard | null): bigint => inCommon(growthOf(load.sizes, unitRates(card)))

/** Micro-USD in so many milliseconds. */
const burnMicroUsd = (load: Load, card: RateCard | null, ms: number): bigint =>
  (burnInCommon(load, card) * BigInt(ms)) / common

const isBurning = ({ sizes }: Load): boolean => total(sumSizes(sizes)) > 0n

const ceilDiv = (a: bigint, b: bigint): bigint => (a + b - 1n) / b

export interface Figures {
  readonly balanceMicroUsd: bigint
  readonly burnMicroUsdPerHour: bigint
  readonly grantedMicroUsd: bigint
}

/** Credit below this is low: less than a day of the present burn, or than 10 % of the granted sum. */
const lowBelow = (granted: bigint, burnADay: bigint): bigint => most(ceilDiv(granted, 10n), burnADay)

const canBeSpent = (grant: Grant): boolean => grant.isPosted && grant.remainingMicroUsd > 0n

const grantedIn = (grants: ReadonlyArray<Grant>): bigint =>
  grants.reduce((sum, grant) => (canBeSpent(grant) ? sum + grant.grantedMicroUsd : sum), 0n)

/** @param balance The posted balance. */
export const figuresAt = (
  balance: bigint,
  grants: ReadonlyArray<Grant>,
  load: Load,
  cards: ReadonlyArray<RateCard>,
  at: number
): Figures => ({
  balanceMicroUsd: balance - load.grownMicroUsd,
  burnMicroUsdPerHour: burnMicroUsd(load, cardAt(cards, at), 60 * 60 * 1000),
  grantedMicroUsd: grantedIn(grants)
})

export interface Planned {
  readonly exhaustedAt: number | null
  readonly lowAt: number | null
  readonly nextAt: number | null
}

export const statusAt = (
  billing: "unlimited" | "prepaid",
  { balanceMicroUsd, grantedMicroUsd }: Figures,
  { exhaustedAt }: Pick<Planned, "exhaustedAt">,
  load: Load,
  card: RateCard | null,
  at: number
): WalletStatus => {
  if (billing === "unlimited") return "unlimited"
  if (balanceMicroUsd <= 0n || (exhaustedAt !== null && exhaustedAt <= at)) return "exhausted"
  return balanceMicroUsd < lowBelow(grantedMicroUsd, burnMicroUsd(load, card, dayMs)) ? "low" : "funded"
}

export interface ToPlan {
  readonly billing: "unlimited" | "prepaid"
  /** No change of a grant is due at this instant or before it. */
  readonly at: number
  /** All grants with remaining credit or not yet posted. */
  readonly grants: ReadonlyArray<Grant>
  readonly debtMicroUsd: bigint
  /** The load at `at`. */
  readonly load: Load
  readonly cards: ReadonlyArray<RateCard>
  /** The previous plan; if the credit is exhausted already, it tells since when. */
  readonly exhaustedAt: number | null
}

/** How much the load grows from its instant on, and when it has grown by a given amount. */
class Growth {
  readonly #load: Load
  readonly #cards: ReadonlyArray<RateCard>
  readonly #at: number
  /** The most by which rounding each sum down can differ from rounding the total. */
  readonly #slack: bigint

  constructor(load: Load, cards: ReadonlyArray<RateCard>, at: number) {
    this.#load = load
    this.#cards = cards
    this.#at = at
    this.#slack = BigInt(Math.max(load.terms - 1, 0))
  }

  #inCommonBy(at: number): bigint {
    const weight = weightBetween(this.#cards, this.#at, at)
    const growth = growthOf(this.#load.sizes, weight)
    return inCommon(eachComponent((c) => this.#load.rests[c] + growth[c]))
  }

  /** Micro-USD; a lower bound if the remainders of each meter are not known. */
  by(at: number): bigint {
    const { each } = this.#load
    if (each === null) {
      const grown = this.#inCommonBy(at) / common - this.#slack
      return most(grown, 0n)
    }
    const weight = weightBetween(this.#cards, this.#at, at)
    let grown = 0n
    for (const { rests, sizes } of each) {
      // The rest of a sum that does not grow is 0.
      const growth = growthOf(sizes, weight)
      grown += total(eachComponent((c) => (rests[c] + growth[c]) / divisors[c]))
    }
    return grown
  }

  /** The first instant in (from, to) at which it has grown by this amount; the card does not change in between. */
  firstAt(microUsd: bigint, from: number, to: number): number | null {
    const burn = burnInCommon(this.#load, cardAt(this.#cards, from))
    if (burn === 0n) return null
    const start = this.#inCommonBy(from)
    const reaches = (amount: bigint): number => {
      const ms = ceilDiv(amount * common - start, burn)
      return ms <= 0n ? from + 1 : from + Number(least(ms, BigInt(lastInstant)))
    }
    const last = Math.min(to - 1, lastInstant)
    let late = Math.min(reaches(microUsd + this.#slack), last)
    if (late <= from || this.by(late) < microUsd) return null
    let early = Math.max(Math.min(reaches(microUsd), late), from + 1)
    while (early < late) {
      const middle = early + Math.floor((late - early) / 2)
      if (this.by(middle) >= microUsd) late = middle
      else early = middle + 1
    }
    return late
  }
}

/** The future state of the grants. */
class Credit {
  readonly #grants: Array<Grant>
  #debt: bigint
  #taken = 0n

  constructor(grants: ReadonlyArray<Grant>, debt: bigint) {
    this.#grants = grants.toSorted(spendingOrder)
    this.#debt = debt
  }

  get granted(): bigint {
    return grantedIn(this.#grants)
  }

  /** Remaining credit of all, before usage that `use` has not been given. */
  get left(): bigint {
    return this.#grants.reduce((sum, grant) => (grant.isPosted ? sum + grant.remainingMicroUsd : sum), -this.#debt)
  }

  get dueAt(): number | null {
    return grantsDueAt(this.#grants)
  }

  get taken(): bigint {
    return this.#taken
  }

  /** @param microUsd The total since the beginning. */
  use(microUsd: bigint): void {
    let open = microUsd - this.#taken
    this.#taken = microUsd
    for (const [i, grant] of this.#grants.entries()) {
      if (!canBeSpent(grant)) continue
      const taken = least(open, grant.remainingMicroUsd)
      this.#grants[i] = { ...grant, remainingMicroUsd: grant.remainingMicroUsd - taken }
      open -= taken
    }
    this.#debt += open
  }

  /** Applies the changes due at an instant; newly effective credit pays debt first. */
  pass(at: number): void {
    for (const [i, grant] of this.#grants.entries()) {
      if (grant.isPosted || grant.effectiveAt > at) continue
      const paid = least(this.#debt, grant.grantedMicroUsd)
      this.#debt -= paid
      this.#grants[i] = { ...grant, isPosted: true, remainingMicroUsd: grant.grantedMicroUsd - paid }
    }
    for (const [i, grant] of this.#grants.entries()) {
      if (grant.isPosted && grant.expiresAt !== null && grant.expiresAt <= at) {
        this.#grants[i] = { ...grant, remainingMicroUsd: 0n }
      }
    }
  }
}

const foresee = ({ at, grants, debtMicroUsd, load, cards, exhaustedAt }: ToPlan): Omit<Planned, "nextAt"> => {
  const growth = new Growth(load, cards, at)
  const credit = new Credit(grants, debtMicroUsd)
  const used = (instant: number) => load.grownMicroUsd + growth.by(instant)
  let lowAt: number | null = null
  for (let from = at; ; ) {
    const left = credit.left + credit.taken
    const isFirst = from === at
    const low = left - lowBelow(credit.granted, burnMicroUsd(load, cardAt(cards, from), dayMs)) + 1n
    const already = used(from)
    if (already >= low) lowAt ??= from
    if (already >= left) {
      const since = isFirst && exhaustedAt !== null && exhaustedAt < at ? exhaustedAt : from
      return { exhaustedAt: since, lowAt: lowAt ?? from }
    }
    const to = cards.reduce(
      (next, { effectiveAt }) => (effectiveAt > from && effectiveAt < next ? effectiveAt : next),
      credit.dueAt ?? Number.POSITIVE_INFINITY
    )
    lowAt ??= growth.firstAt(low - load.grownMicroUsd, from, to)
    const end = growth.firstAt(left - load.grownMicroUsd, from, to)
    if (end !== null) return { exhaustedAt: end, lowAt: lowAt ?? end }
    if (to === Number.POSITIVE_INFINITY) return { exhaustedAt: null, lowAt }
    credit.use(used(to))
    credit.pass(to)
    from = to
  }
}

export const plan = (toPlan: ToPlan): Planned => {
  const { billing, at, grants, load, cards } = toPlan
  const { exhaustedAt, lowAt } = billing === "unlimited" ? { exhaustedAt: null, lowAt: null } : foresee(toPlan)
  const coming = [
    grantsDueAt(grants),
    exhaustedAt,
    lowAt,
    ...(isBurning(load) ? [(Math.floor(at / dayMs) + 1) * dayMs, ...cards.map(({ effectiveAt }) => effectiveAt)] : [])
  ].filter((instant) => instant !== null && instant > at)
  return { exhaustedAt, lowAt, nextAt: coming.length === 0 ? null : Math.min(...(coming as Array<number>)) }
}
