/**
 * Maps instants to positions on a line, and back. Long stretches without events become marks of one width; all other time has one
 * scale. So short events, hours apart, are visible on one line.
 */

export interface Range {
  /** Epoch milliseconds. */
  readonly from: number
  readonly to: number
}

export interface Piece extends Range {
  /** Pixels. */
  readonly x: number
  readonly width: number
  /** A stretch without events, drawn shorter. */
  readonly isGap: boolean
}

export interface Scale extends Range {
  readonly width: number
  /** Contiguous, from end to end. */
  readonly pieces: ReadonlyArray<Piece>
  /** The position of an instant; outside the range, a position beyond the line's ends. */
  readonly x: (at: number) => number
  /** Positions beyond an end count as the end. */
  readonly at: (x: number) => number
}

/** Width of a mark in pixels, on a wide line with room for its duration as text. */
export const gapWidthOn = (width: number): number => (width < 600 ? 14 : 36)

/** A gap is at least so many times as long as the rest without it and all longer gaps; otherwise it is normal time. */
const timesTheRest = 2

/** The longest stretches; each would take more than twice the width of a mark. */
const gapsOf = (instants: Float64Array, { from, to }: Range, width: number): ReadonlyArray<Range> => {
  const gapWidth = gapWidthOn(width)
  const most = Math.floor((width * 0.6) / gapWidth)
  const lengths = new Float64Array(instants.length + 1)
  let before = from
  for (let index = 0; index < instants.length; index++) {
    lengths[index] = instants[index]! - before
    before = instants[index]!
  }
  lengths[instants.length] = to - before
  const sorted = lengths.slice().sort().reverse()
  let rest = to - from
  let count = 0
  let least = Number.POSITIVE_INFINITY
  for (let longer = 0; longer < Math.min(most, sorted.length); longer++) {
    const length = sorted[longer]!
    if (length <= 0 || (length / rest) * (width - longer * gapWidth) <= 2 * gapWidth) break
    rest -= length
    if (length < timesTheRest * rest || (rest <= 0 && longer > 0)) continue
    least = length
    count = longer + 1
  }
  const gaps: Array<Range> = []
  for (let index = 0; index < lengths.length && gaps.length < count; index++) {
    if (lengths[index]! < least) continue
    const start = index === 0 ? from : instants[index - 1]!
    gaps.push({ from: start, to: start + lengths[index]! })
  }
  return gaps
}

const pieceAt = (pieces: ReadonlyArray<Piece>, isBefore: (piece: Piece) => boolean): Piece => {
  let low = 0
  let high = pieces.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore(pieces[middle]!)) low = middle + 1
    else high = middle
  }
  return pieces[low]!
}

/** @param instants Times of events within the range, sorted. */
export const scaleOf = (instants: Float64Array, range: Range, width: number): Scale => {
  const { from } = range
  const to = Math.max(range.to, from + 1)
  const gaps = gapsOf(instants, { from, to }, width)
  const idle = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0)
  const gapWidth = gapWidthOn(width)
  // If the whole range is one gap, it takes the whole line.
  const room = to - from - idle > 0 ? width - gaps.length * gapWidth : width
  const perMs = to - from - idle > 0 ? room / (to - from - idle) : 0
  const widthOfGap = perMs > 0 ? gapWidth : width / Math.max(1, gaps.length)
  const pieces: Array<Piece> = []
  let at = from
  let x = 0
  const push = (until: number, isGap: boolean) => {
    const wide = isGap ? widthOfGap : (until - at) * perMs
    if (until > at) pieces.push({ from: at, to: until, x, width: wide, isGap })
    x += until > at ? wide : 0
    at = until
  }
  for (const gap of gaps) {
    push(gap.from, false)
    push(gap.to, true)
  }
  push(to, false)
  return {
    from,
    to,
    width,
    pieces,
    x: (instant) => {
      const piece = pieceAt(pieces, (one) => one.to < instant)
      return piece.x + ((instant - piece.from) / (piece.to - piece.from)) * piece.width
    },
    at: (place) => {
      const piece = pieceAt(pieces, (one) => one.x + one.width < place)
      const instant = piece.from + ((place - piece.x) / piece.width) * (piece.to - piece.from)
      // Sums of widths may be inexact.
      return Math.max(piece.from, Math.min(piece.to, instant))
    }
  }
}
