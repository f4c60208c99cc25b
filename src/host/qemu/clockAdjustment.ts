/**
 * How far the kernel of a guest makes its clock run faster or slower than its counter. Root in the guest can change it, as an NTP daemon does.
 *
 * @source adjtimex(2), ADJ_TICK and ADJ_FREQUENCY
 */

export interface Adjustment {
  /** Microseconds that the clock goes on by in a hundredth of a second. */
  readonly tickUs: number
  /** What is added, in 2^-16 parts of a million. */
  readonly frequency: number
}

const TICK_US = 10_000
/** The kernel takes no more than 10 % either way. */
const TICK_MIN_US = 9_000
const TICK_MAX_US = 11_000
const FREQUENCY_ONE = 65_536 * 1e6
/** And 500 ppm. */
const FREQUENCY_MAX = 500 * 65_536

const isPossible = ({ tickUs, frequency }: Adjustment): boolean =>
  tickUs >= TICK_MIN_US && tickUs <= TICK_MAX_US && Math.abs(frequency) <= FREQUENCY_MAX

/** @param text A guest's own word: the tick and the frequency. Null when a kernel does not say that. */
export const adjustmentIn = (text: string): Adjustment | null => {
  const [, tick, frequency] = /^(\d{1,6}) (-?\d{1,10})$/.exec(text) ?? []
  if (tick === undefined) return null
  const adjustment = { tickUs: Number(tick), frequency: Number(frequency) }
  return isPossible(adjustment) ? adjustment : null
}

/**
 * The adjustment with which a clock runs right that runs at `rate` with `current`. Null: the kernel cannot go so far.
 */
export const correction = (current: Adjustment, rate: number): Adjustment | null => {
  const wanted = (current.tickUs / TICK_US + current.frequency / FREQUENCY_ONE) / rate
  const tickUs = Math.round(wanted * TICK_US)
  const better = { tickUs, frequency: Math.round((wanted - tickUs / TICK_US) * FREQUENCY_ONE) }
  return isPossible(better) ? better : null
}
