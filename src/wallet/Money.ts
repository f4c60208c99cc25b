/**
 * Money is integer micro-USD in a bigint, never a float. People read and write exact decimal dollars.
 *
 * The limits keep every amount of an account exact as a JSON number too (below 2^53).
 */

/** One grant: a thousand million dollars. */
export const grantMaxMicroUsd = 10n ** 15n

/** All grants of an account, in total. */
export const grantedMaxMicroUsd = 9n * 10n ** 15n

export const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)

export const most = (a: bigint, b: bigint): bigint => (a > b ? a : b)

const decimal = /^(\d{1,10})(?:\.(\d{1,6}))?$/

/** `12.5` as 12500000n; null unless it is a plain decimal with at most 6 places: no sign, exponent, grouping or space. */
export const parseUsd = (text: string): bigint | null => {
  const [, whole, fraction = ""] = decimal.exec(text) ?? []
  return whole === undefined ? null : BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"))
}

/** 12500000n as `12.50`: at least two decimal places, and more where needed. */
export const formatUsd = (microUsd: bigint): string => {
  const size = microUsd < 0n ? -microUsd : microUsd
  const fraction = String(size % 1_000_000n).padStart(6, "0")
  return `${microUsd < 0n ? "-" : ""}${size / 1_000_000n}.${fraction.replace(/0{1,4}$/, "")}`
}
