/** The statistics of a figure's rounds: its median, and how far its rounds lie apart. */
import type { Headline } from "./Headline.ts"

export interface Rounds {
  readonly p50: number
  /** The middle eight tenths of the rounds; all of them if there are fewer than ten. */
  readonly low: number
  readonly high: number
  readonly count: number
}

export const roundsOf = (values: ReadonlyArray<number>): Rounds => {
  const sorted = [...values].sort((a, b) => a - b)
  const { length } = sorted
  const cut = Math.floor(length / 10)
  return {
    p50: (sorted[Math.floor((length - 1) / 2)]! + sorted[Math.ceil((length - 1) / 2)]!) / 2,
    low: sorted[cut]!,
    high: sorted[length - 1 - cut]!,
    count: length
  }
}

/** Value / other side, by round. Null without another side. */
export const ratiosOf = ({ values, other }: Headline): ReadonlyArray<number> | null =>
  other === undefined ? null : values.map((value, round) => value / other.values[round]!)

/** Null without an aim. */
export const isReached = (figure: Headline): boolean | null => {
  const { aim, better, values } = figure
  const ratios = ratiosOf(figure)
  const kept = (limit: number | undefined, is: ReadonlyArray<number> | null) =>
    limit === undefined
      ? []
      : [is !== null && (better === "lower" ? roundsOf(is).p50 <= limit : roundsOf(is).p50 >= limit)]
  const held = [...kept(aim?.value, values), ...kept(aim?.ratio, ratios)]
  return held.length === 0 ? null : held.every(Boolean)
}

/** Single measurements as the medians of so many rounds, in their order: one alone says little. */
export const inRounds = (values: ReadonlyArray<number>, rounds = 5): ReadonlyArray<number> => {
  const count = Math.min(rounds, values.length)
  const from = (round: number) => Math.floor((round * values.length) / count)
  return Array.from({ length: count }, (_, round) => roundsOf(values.slice(from(round), from(round + 1))).p50)
}
