/**
 * Runs the compared subjects alternately, so that each meets the same machine: the orders of the turns, and the
 * comparison.
 */
import { quantile } from "./BenchService.ts"

/** Every order of them: the second finds warmer caches, and one after a slow one a busier disk. */
export const orders = <A>(list: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  list.length < 2
    ? [list]
    : list.flatMap((first, at) => orders(list.toSpliced(at, 1)).map((others) => [first, ...others]))

export interface Paired {
  /** The median of all pairs. */
  readonly is: number
  /** The least and the greatest of the medians of single rounds: how reliable the figure is. */
  readonly rounds: readonly [least: number, most: number]
}

/** The turns of one against those of the other, by round. */
export const paired = (
  one: ReadonlyArray<ReadonlyArray<number>>,
  other: ReadonlyArray<ReadonlyArray<number>>,
  compare: (one: number, other: number) => number
): Paired => {
  const rounds = one.map((turns, round) => turns.map((value, turn) => compare(value, other[round]![turn]!)))
  const medians = rounds.map((pairs) => quantile(pairs, 0.5))
  return { is: quantile(rounds.flat(), 0.5), rounds: [Math.min(...medians), Math.max(...medians)] }
}
