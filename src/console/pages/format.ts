/** Formats amounts, sizes and instants for people. */

/** Integer micro-dollars; an amount that is not whole cents keeps its significant digits. */
export const usd = (microUsd: number): string => {
  const size = Math.abs(microUsd) / 1e6
  const digits = microUsd % 10_000 === 0 ? 2 : size >= 0.01 ? 4 : 6
  const text = size.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return `${microUsd < 0 ? "−" : ""}$${text}`
}

const microDigits = 6

/** To the micro-dollar, for any size: displayed amounts add up to the displayed sum. */
export const exactUsd = (microUsd: number | bigint): string => {
  const amount = BigInt(microUsd)
  const digits = (amount < 0n ? -amount : amount).toString().padStart(microDigits + 1, "0")
  const [dollars, micro] = [BigInt(digits.slice(0, -microDigits)), digits.slice(-microDigits)]
  return `${amount < 0n ? "−" : ""}$${dollars.toLocaleString("en-US")}.${micro}`
}

/** Amounts of one scale, with the digits that its steps need. */
export const usdInSteps = (microUsd: number, step: number): string => {
  const digits = [2, 3, 4, 5, 6].find((some) => Number.isInteger(step / 10 ** (6 - some))) ?? 7
  const text = (microUsd / 1e6).toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits
  })
  return `$${text}`
}

/** With an explicit sign. */
export const signedUsd = (microUsd: number): string => `${microUsd > 0 ? "+" : ""}${usd(microUsd)}`

const units = ["bytes", "KiB", "MiB", "GiB", "TiB"]

export const size = (bytes: number): string => {
  if (bytes === 1) return "1 byte"
  const step = bytes < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  return `${(bytes / 1024 ** step).toLocaleString("en-US", { maximumFractionDigits: 1 })} ${units[step]}`
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" })
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" })

/** In this browser's time zone. */
export const timeOfDay = (at: number): string => clock.format(at)

/** An instant in this browser's time zone: today's with the time only, others with the date. */
export const instant = (text: string): string => {
  const at = new Date(text)
  const isToday = new Date().toDateString() === at.toDateString()
  return isToday ? clock.format(at) : `${day.format(at)}, ${clock.format(at).slice(0, 5)}`
}

const steps: ReadonlyArray<readonly [string, number]> = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1]
]

/** The two largest units of a duration in seconds; milliseconds below ten seconds. */
export const duration = (seconds: number): string => {
  const ms = Math.round(seconds * 1000)
  if (ms === 0) return seconds > 0 ? "under 1 ms" : "0 s"
  if (ms < 1000) return `${ms} ms`
  if (ms < 10_000 && ms % 1000 !== 0) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  let rest = Math.floor(ms / 1000)
  const parts: Array<string> = []
  for (const [unit, length] of steps) {
    const count = Math.floor(rest / length)
    rest -= count * length
    if (count > 0) parts.push(`${count} ${unit}`)
  }
  return parts.slice(0, 2).join(" ")
}

export const count = (value: number): string => value.toLocaleString("en-US")

/** Three significant digits. */
export const gibHours = (mibSeconds: number): string =>
  `${(mibSeconds / 1024 / 3600).toLocaleString("en-US", { maximumSignificantDigits: 3 })}\u00a0GiB\u00a0h`
