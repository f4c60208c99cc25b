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
import { type Amounts, type Burning, common, divisors, eachComponent, milliVcpus, sumsAfter } from "./Cost.ts"
import { dayMs, type Meter } from "./Fold.ts"
import type { Grant } from "./Grant.ts"
import { least, most } from "./Money.ts"
import { grantsDueAt } from "./Posting.ts"
import { cardAt, type RateCard } from "./RateCard.ts"

export type WalletStatus = "unlimited" | "funded" | "low" | "exhausted"

/** The last instant that a date can name. */
const lastInstant = 8.64e15

/** The sum of an account's open meters at one instant. */
export interface Load {
  /** Micro-USD by which they have grown since their last segments. */
  readonly grownMicroUsd: bigint
  /** The parts below one micro-USD of the growing sums. */
  readonly rests: Amounts
  /** Running milli-vCPUs, bytes of their memory, bytes of all volumes. */
  readonly sizes: Amounts
  /** The number of growing sums; each is rounded down separately. */
  readonly terms: number
  /** The same for each meter; null if only the sums are known. */
  readonly each: ReadonlyArray<{ readonly rests: Amounts; readonly sizes: Amounts }> | null
}

const sizesOf = (burning: Burning): Amounts => ({
  vcpu: burning.isRunning ? milliVcpus(burning.vcpus) : 0n,
  memory: burning.isRunning ? BigInt(burning.memoryBytes) : 0n,
  volume: burning.hasVolume ? BigInt(burning.volumeBytes) : 0n
})

/** The cost of one unit of each component between two instants, in the units of the sums. */
const weightBetween = (cards: ReadonlyArray<RateCard>, from: number, to: number): Amounts => {
  let weight: Amounts = { vcpu: 0n, memory: 0n, volume: 0n }
  for (let at = from; at < to; ) {
    const card = cardAt(cards, at)
    const end = cards.reduce(
      (next, { effectiveAt }) => (effectiveAt > at && effectiveAt < next ? effectiveAt : next),
      to
    )
    weight = sumsAfter(weight, unitRates(card), end - at)
    at = end
  }
  return weight
}

const unitRates = (card: RateCard | null): Amounts => ({
  vcpu: card?.vcpuSecondNanoUsd ?? 0n,
  memory: card?.memoryGibSecondNanoUsd ?? 0n,
  volume: card?.volumeGibSecondNanoUsd ?? 0n
})

/** A meter ahead of the instant (of a faster clock) has not grown. From then on it counts like the others: too early rather than too late. */
export const loadOf = (meters: ReadonlyArray<Meter>, cards: ReadonlyArray<RateCard>, at: number): Load => {
  let grownMicroUsd = 0n
  let rests: Amounts = { vcpu: 0n, memory: 0n, volume: 0n }
  let sizes = rests
  let terms = 0
  const weights = new Map<number, Amounts>()
  const each = meters.map((meter) => {
    const weight = weights.get(meter.at) ?? weightBetween(cards, meter.at, at)
    weights.set(meter.at, weight)
    const own = sizesOf(meter)
    const sums = eachComponent((c) => (meter.sums[c] % divisors[c]) + own[c] * weight[c])
    const ownRests = eachComponent((c) => (own[c] > 0n ? sums[c] % divisors[c] : 0n))
    grownMicroUsd += sums.vcpu / divisors.vcpu + sums.memory / divisors.memory + sums.volume / divisors.volume
    rests = eachComponent((c) => rests[c] + ownRests[c])
    sizes = eachComponent((c) => sizes[c] + own[c])
    terms += Number(own.vcpu > 0n) + Number(own.memory > 0n) + Number(own.volume > 0n)
    return { rests: ownRests, sizes: own }
  })
  return { grownMicroUsd, rests, sizes, terms, each }
}

const inCommon = (amounts: Amounts): bigint =>
  amounts.vcpu * (common / divisors.vcpu) +
  amounts.memory * (common / divisors.memory) +
  amounts.volume * (common / divisors.volume)

const burnInCommon = (load: Load, card: RateCard | null): bigint => {
  const rates = unitRates(card)
  return inCommon(eachComponent((c) => load.sizes[c] * rates[c]))
}

/** Micro-USD in so many milliseconds. */
const burnMicroUsd = (load: Load, card: RateCard | null, ms: number): bigint =>
  (burnInCommon(load, card) * BigInt(ms)) / common

const isBurning = ({ sizes }: Load): boolean => sizes.vcpu + sizes.memory + sizes.volume > 0n

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
    return inCommon(eachComponent((c) => this.#load.rests[c] + this.#load.sizes[c] * weight[c]))
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
      if (sizes.vcpu > 0n) grown += (rests.vcpu + sizes.vcpu * weight.vcpu) / divisors.vcpu
      if (sizes.memory > 0n) grown += (rests.memory + sizes.memory * weight.memory) / divisors.memory
      if (sizes.volume > 0n) grown += (rests.volume + sizes.volume * weight.volume) / divisors.volume
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
