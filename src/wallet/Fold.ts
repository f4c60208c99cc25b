/**
 * Folds the transitions of a Sandbox, or of a snapshot, into its meter and into closed segments: pure.
 *
 * vCPUs and memory cost while it is `running`; its volume from the first `running` to `deleted`. A snapshot costs what it stores, from `ready` until
 * it is `deleted` or its image is lost: to the fold, that is a volume of another rate, whose size arrives with `ready`. A segment ends when that changes, at each UTC
 * midnight, at each new rate card, at each change of its sizes, and at the instants that the caller names.
 *
 * The meter may be ahead of the log: a run is posted up to now, and afterwards its end arrives with an earlier instant (a commit in
 * flight, or `seenAt`: when a dead runtime was last seen alive). Segments with the sign -1 then reverse the usage posted since, latest
 * first, and the correct part is posted again. A change of sizes counts as seen alive: no run ends before it.
 *
 * An instant before an earlier one of the same log counts as that earlier one. Hosts now clamp their clocks before they commit; this rule gives
 * older logs one reading everywhere.
 *
 * @source contract-details.md "Usage and credit"
 */
import { isGone, isReady, isStored, isUp } from "./billedStates.ts"
import { type Amounts, type Burning, costBetween, nothing, type Piece, ratesOf, type Sizes, sumsAfter } from "./Cost.ts"
import { cardAt, type RateCard } from "./RateCard.ts"

export const dayMs = 24 * 60 * 60 * 1000

export interface MeteredSandbox extends Sizes {
  /** Of the Sandbox, or of the snapshot. */
  readonly sandboxId: string
  /** Of a snapshot: of which Sandbox it is. Null: a Sandbox. */
  readonly snapshotOf: string | null
  readonly accountId: string
  readonly workspaceId: string
  readonly name: string | null
}

/** Times are epoch milliseconds. */
export interface Meter extends MeteredSandbox, Burning {
  /** The last revision of the log that was folded. */
  readonly revision: number
  /** Segments are closed up to here. */
  readonly at: number
  /** The latest instant in the log so far. */
  readonly changedAt: number
  /** The start of its run, or the last change of its sizes since. */
  readonly runSince: number | null
  /** The number of the next segment. */
  readonly segments: number
  /** The sums at `at`. */
  readonly sums: Amounts
  /** When it was deleted. */
  readonly closedAt: number | null
}

export interface Segment extends Piece, Sizes {
  readonly sandboxId: string
  readonly number: number
  readonly isRunning: boolean
  readonly hasVolume: boolean
  /** Micro-USD, signed. */
  readonly cost: Amounts
  /** For a segment with the sign -1: the number of the segment that it reverses in part. */
  readonly takesBack: number | null
}

export interface FoldedTransition {
  readonly revision: number
  readonly at: number
  readonly from: string | null
  readonly to: string
  /** From the event: when the runtime was last seen alive. */
  readonly seenAt: number | null
  /** From the event: the sizes from here on; null: as before. */
  readonly sizes: Sizes | null
}

export interface FoldRules {
  /** Ascending. */
  readonly cards: ReadonlyArray<RateCard>
  /** Further instants at which segments end, ascending. */
  readonly cuts: ReadonlyArray<number>
}

/** The meter of a Sandbox that never ran, or of a snapshot that was never ready. */
export const newMeter = (sandbox: MeteredSandbox): Meter => ({
  ...sandbox,
  isRunning: false,
  hasVolume: false,
  revision: 0,
  at: 0,
  changedAt: 0,
  runSince: null,
  segments: 0,
  sums: nothing,
  closedAt: null
})

/** A Sandbox that never ran, or a snapshot that was never ready, costs nothing, and needs no meter. */
export const everRan = (meter: Meter): boolean => meter.hasVolume || meter.closedAt !== null

/** The earliest instant to which these transitions may reverse, if it is before the closed end: then the segments after it are needed. */
export const leadsBackTo = (meter: Meter, transitions: ReadonlyArray<FoldedTransition>): number | null => {
  let earliest = Number.POSITIVE_INFINITY
  for (const { at, from, to, seenAt, sizes } of transitions) {
    if (from === to && sizes === null) continue
    earliest = Math.min(earliest, Math.max(at, meter.changedAt))
    if (seenAt !== null) earliest = Math.min(earliest, Math.max(Math.floor(seenAt), meter.runSince ?? meter.changedAt))
  }
  return meter.hasVolume && earliest < meter.at ? earliest : null
}

/** The segments that remain after all reversals, without overlaps, by number. */
export const standing = (segments: ReadonlyArray<Segment>): Array<Segment> => {
  const stack: Array<Segment> = []
  for (const segment of segments) {
    if (segment.sign === 1) {
      stack.push(segment)
      continue
    }
    const taken = stack.pop()
    if (taken !== undefined && taken.from < segment.from) stack.push({ ...taken, to: segment.from })
  }
  return stack
}

/** Whether a run of a Sandbox begins in this state, or the life of a snapshot's image. */
const begins = ({ snapshotOf, isRunning, hasVolume }: Meter, state: string): boolean =>
  snapshotOf === null ? !isRunning && isUp(state) : !hasVolume && isReady(state)

/** Whether nothing costs any more in this state. */
const ends = ({ snapshotOf }: Meter, state: string): boolean => (snapshotOf === null ? isGone(state) : !isStored(state))

const nextCut = (from: number, rules: FoldRules): number => {
  let next = (Math.floor(from / dayMs) + 1) * dayMs
  for (const { effectiveAt } of rules.cards) if (effectiveAt > from && effectiveAt < next) next = effectiveAt
  for (const cut of rules.cuts) if (cut > from && cut < next) next = cut
  return next
}

/**
 * @param transitions After the meter's revision, ascending.
 * @param until Closes segments up to here, if the Sandbox still costs then; null: up to its last change.
 * @param tail The remaining segments after `leadsBackTo`.
 */
export const fold = (
  meter: Meter,
  transitions: ReadonlyArray<FoldedTransition>,
  until: number | null,
  tail: ReadonlyArray<Segment>,
  rules: FoldRules
): { readonly meter: Meter; readonly segments: ReadonlyArray<Segment> } => {
  let now: Meter = meter
  const closed: Array<Segment> = []
  const stack = [...tail]

  const add = (segment: Omit<Segment, "number" | "sandboxId">): Segment => {
    const numbered = { ...segment, sandboxId: now.sandboxId, number: now.segments }
    closed.push(numbered)
    now = { ...now, segments: now.segments + 1 }
    return numbered
  }

  const closeUpTo = (at: number): void => {
    if (!now.hasVolume) {
      if (at > now.at) now = { ...now, at }
      return
    }
    while (now.at < at) {
      const { at: from, sums, isRunning, hasVolume, vcpus, memoryBytes, volumeBytes } = now
      const to = Math.min(at, nextCut(from, rules))
      const rates = ratesOf(cardAt(rules.cards, from), now)
      const after = sumsAfter(sums, rates, to - from)
      const cost = costBetween(sums, after)
      const sizes = { vcpus, memoryBytes, volumeBytes }
      stack.push(add({ ...sizes, from, to, sign: 1, sums, rates, isRunning, hasVolume, cost, takesBack: null }))
      now = { ...now, at: to, sums: after }
    }
  }

  const takeBackTo = (at: number): void => {
    while (now.hasVolume && now.at > at) {
      const last = stack.pop()
      if (last === undefined || last.to !== now.at) {
        throw new Error(`The segments of ${now.sandboxId} before ${now.at} are missing.`)
      }
      const from = Math.max(last.from, at)
      const sums = sumsAfter(last.sums, last.rates, from - last.from)
      const { vcpu, memory, volume } = costBetween(sums, sumsAfter(sums, last.rates, last.to - from))
      const cost = { vcpu: -vcpu, memory: -memory, volume: -volume }
      add({ ...last, from, sign: -1, sums, cost, takesBack: last.number })
      if (last.from < from) stack.push({ ...last, to: from })
      now = { ...now, at: from, sums }
    }
  }

  /** Reopens everything that was closed after this instant. */
  const goTo = (at: number): void => {
    takeBackTo(at)
    closeUpTo(at)
  }

  let through = meter.at
  for (const { revision, at, from, to, seenAt, sizes } of transitions) {
    const instant = Math.max(at, now.changedAt)
    now = { ...now, revision, changedAt: instant }
    if (sizes !== null && now.closedAt === null) {
      if (now.hasVolume) {
        goTo(instant)
        through = Math.max(through, instant)
      }
      now = { ...now, ...sizes, runSince: now.isRunning ? instant : null }
    }
    if (from === to || now.closedAt !== null) continue
    if (now.isRunning && !isUp(to)) {
      const seen = seenAt === null ? instant : Math.min(Math.max(Math.floor(seenAt), now.runSince ?? instant), instant)
      goTo(seen)
      now = { ...now, isRunning: false, runSince: null }
      through = Math.max(through, instant)
    }
    if (begins(now, to)) {
      goTo(instant)
      const isRunning = now.snapshotOf === null
      now = { ...now, isRunning, hasVolume: true, runSince: isRunning ? instant : null }
      through = Math.max(through, instant)
    }
    if (now.hasVolume && ends(now, to)) {
      goTo(instant)
      now = { ...now, hasVolume: false, closedAt: instant }
    }
  }
  if (now.hasVolume) closeUpTo(Math.max(through, until ?? through))
  return { meter: now, segments: closed }
}
