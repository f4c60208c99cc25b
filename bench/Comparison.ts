/** Holds a run of benchmarks against an earlier one: which figures moved by more than the spread of both runs. */
import { type BenchRun, isSameMachine } from "./BenchRun.ts"
import type { Headline } from "./Headline.ts"
import { type Rounds, ratiosOf, roundsOf } from "./Rounds.ts"

export interface Move {
  readonly name: string
  readonly of: "value" | "ratio"
  readonly unit: string
  readonly then: Rounds
  readonly now: Rounds
  readonly verdict: "better" | "worse"
}

export interface Comparison {
  readonly sameMachine: boolean
  readonly moved: ReadonlyArray<Move>
  /** Figures that were compared and did not move. */
  readonly unmoved: number
  /** Figures that one side has only, those of a failed benchmark included. */
  readonly onlyThen: ReadonlyArray<string>
  readonly onlyNow: ReadonlyArray<string>
  /** Both sides have them, without the other side that another machine needs. */
  readonly incomparable: ReadonlyArray<string>
}

/** Clocks and rounding: less is never a move. */
const leastShare = 0.02
/** The spread of a figure with one round is unknown; this share of it stands in. */
const singleShare = 0.1

/** The range of a figure, and at least the share that says nothing. */
const range = ({ p50, low, high, count }: Rounds): readonly [low: number, high: number] => {
  const least = Math.abs(p50) * (count === 1 ? singleShare : leastShare)
  return [Math.min(low, p50 - least), Math.max(high, p50 + least)]
}

/** Null where the ranges of the two touch. */
const moveOf = (
  { name, unit, better }: Headline,
  of: Move["of"],
  before: ReadonlyArray<number>,
  after: ReadonlyArray<number>
): Move | null => {
  const [then, now] = [roundsOf(before), roundsOf(after)]
  const [[thenLow, thenHigh], [nowLow, nowHigh]] = [range(then), range(now)]
  if (nowLow <= thenHigh && thenLow <= nowHigh) return null
  const verdict = now.p50 < then.p50 === (better === "lower") ? "better" : "worse"
  return { name, of, unit: of === "ratio" ? "" : unit, then, now, verdict }
}

const figuresOf = ({ benches }: BenchRun): ReadonlyMap<string, Headline> =>
  new Map(benches.flatMap(({ headlines }) => headlines.map((it) => [it.name, it])))

/** Only benchmarks that the later run has are held: figures of others are not missed. */
export const compareRuns = (earlier: BenchRun, later: BenchRun): Comparison => {
  const sameMachine = isSameMachine(earlier.machine, later.machine)
  const ran = new Set(later.benches.map(({ bench }) => bench))
  const then = figuresOf({ ...earlier, benches: earlier.benches.filter(({ bench }) => ran.has(bench)) })
  const now = figuresOf(later)
  const moved: Array<Move> = []
  const incomparable: Array<string> = []
  let unmoved = 0
  for (const [name, after] of now) {
    const before = then.get(name)
    if (before === undefined) continue
    const [ratiosBefore, ratiosAfter] = [ratiosOf(before), ratiosOf(after)]
    const hasRatios = ratiosBefore !== null && ratiosAfter !== null
    const isComparable = before.unit === after.unit && (sameMachine || hasRatios)
    if (!isComparable) incomparable.push(name)
    else {
      const moves = [
        sameMachine ? moveOf(after, "value", before.values, after.values) : null,
        hasRatios ? moveOf(after, "ratio", ratiosBefore, ratiosAfter) : null
      ].filter((it) => it !== null)
      moved.push(...moves)
      if (moves.length === 0) unmoved++
    }
  }
  const missing = (from: ReadonlyMap<string, Headline>, there: ReadonlyMap<string, Headline>) =>
    [...from.keys()].filter((name) => !there.has(name))
  return { sameMachine, moved, unmoved, onlyThen: missing(then, now), onlyNow: missing(now, then), incomparable }
}
