/** Other ranges than the one that is seen. Epoch milliseconds. */
import type { Range, Scale } from "./scale.ts"

/** No range is shorter. */
export const leastMs = 1

/** Null: all of it. */
export const within = ({ from, to }: Range, whole: Range): Range | null => {
  const length = Math.max(leastMs, to - from)
  const start = Math.max(whole.from, Math.min(from, whole.to - length))
  return start <= whole.from && start + length >= whole.to ? null : { from: start, to: start + length }
}

/** Half of what is seen, around an instant. */
export const closer = (scale: Scale, middle: number): Range => {
  const half = scale.width / 4
  const centre = Math.max(half, Math.min(scale.x(middle), scale.width - half))
  return { from: scale.at(centre - half), to: scale.at(centre + half) }
}

/** Four times as long, with an instant where it was. */
export const farther = ({ from, to }: Range, middle: number): Range => ({
  from: middle - (middle - from) * 4,
  to: middle + (to - middle) * 4
})

/** As long as it was; where nothing happened in that, around what happened next to it. */
export const beside = ({ from, to }: Range, instants: Float64Array, direction: -1 | 1): Range => {
  const length = to - from
  const by = length * 0.8 * direction
  const next = direction === -1 ? instants.findLast((at) => at < from) : instants.find((at) => at > to)
  const isEmpty = next === undefined || (direction === -1 ? next < from + by : next > to + by)
  const start = isEmpty && next !== undefined ? next - length / 2 : from + by
  return { from: start, to: start + length }
}
