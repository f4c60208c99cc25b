/** Computes other ranges than the visible one. Epoch milliseconds. */
import type { Range, Scale } from "./scale.ts"

/** The shortest range. */
export const leastMs = 1

/** Null: the whole range. */
export const within = ({ from, to }: Range, whole: Range): Range | null => {
  const length = Math.max(leastMs, to - from)
  const start = Math.max(whole.from, Math.min(from, whole.to - length))
  return start <= whole.from && start + length >= whole.to ? null : { from: start, to: start + length }
}

/** Half of the visible range, around an instant. */
export const closer = (scale: Scale, middle: number): Range => {
  const half = scale.width / 4
  const centre = Math.max(half, Math.min(scale.x(middle), scale.width - half))
  return { from: scale.at(centre - half), to: scale.at(centre + half) }
}

/** Four times the range; the given instant keeps its position. */
export const farther = ({ from, to }: Range, middle: number): Range => ({
  from: middle - (middle - from) * 4,
  to: middle + (to - middle) * 4
})

/** A range of the same length beside it; if nothing happened there, around the next event. */
export const beside = ({ from, to }: Range, instants: Float64Array, direction: -1 | 1): Range => {
  const length = to - from
  const by = length * 0.8 * direction
  const next = direction === -1 ? instants.findLast((at) => at < from) : instants.find((at) => at > to)
  const isEmpty = next === undefined || (direction === -1 ? next < from + by : next > to + by)
  const start = isEmpty && next !== undefined ? next - length / 2 : from + by
  return { from: start, to: start + length }
}
