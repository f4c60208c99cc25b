/** The values of options, read exactly or not at all. Each fails with WrongUsage. */
import { readFileSync } from "node:fs"
import { Refused, WrongUsage } from "./failure.ts"

export const whole = (option: string, text: string, least: number, most: number): number => {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw new WrongUsage(`${option} takes a whole number from ${least} to ${most}, and not ${JSON.stringify(text)}.`)
}

export const port = (text: string): number => whole("PORT", text, 1, 65_535)

const bytesOf: Readonly<Record<string, number>> = { M: 1024 ** 2, G: 1024 ** 3 }

/** Bytes from `512M` or `2G`. */
const bytes = (option: string, text: string): number => {
  const [, count, unit] = /^(\d{1,6})([MG])(?:iB)?$/.exec(text) ?? []
  if (count !== undefined) return Number(count) * bytesOf[unit!]!
  throw new WrongUsage(`${option} takes a size such as 512M or 2G, and not ${JSON.stringify(text)}.`)
}

const tenths = (option: string, text: string): number => {
  if (/^\d{1,4}(\.\d)?$/.test(text)) return Number(text)
  throw new WrongUsage(`${option} takes a number such as 2 or 0.5, and not ${JSON.stringify(text)}.`)
}

/** The options of a Sandbox's sizes. */
export const sizeOptions = {
  vcpus: { type: "string", value: "COUNT", description: "Virtual CPUs, in steps of 0.1" },
  memory: { type: "string", value: "SIZE", description: "Memory: 512M, 2G" },
  disk: { type: "string", value: "SIZE", description: "Its volume, which never shrinks: 4G" }
} as const

/** Undefined: none is named. */
export const sizes = ({
  vcpus,
  memory,
  disk
}: {
  readonly vcpus?: string | undefined
  readonly memory?: string | undefined
  readonly disk?: string | undefined
}): { readonly vcpus?: number; readonly memoryBytes?: number; readonly diskBytes?: number } | undefined =>
  vcpus === undefined && memory === undefined && disk === undefined
    ? undefined
    : {
        ...(vcpus === undefined ? {} : { vcpus: tenths("--vcpus", vcpus) }),
        ...(memory === undefined ? {} : { memoryBytes: bytes("--memory", memory) }),
        ...(disk === undefined ? {} : { diskBytes: bytes("--disk", disk) })
      }

const secondsOf: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3600, d: 86_400 }

/** Seconds from `90`, `90s`, `15m`, `2h` or `7d`. */
export const duration = (option: string, text: string): number => {
  const [, count, unit] = /^(\d{1,9})([smhd]?)$/.exec(text) ?? []
  if (count !== undefined) return Number(count) * secondsOf[unit!]!
  throw new WrongUsage(`${option} takes a time such as 90s, 15m, 2h or 7d, and not ${JSON.stringify(text)}.`)
}

/** RFC 3339 of an instant, or of one that is so long before or after now. */
const instantFrom = (option: string, text: string, sign: 1 | -1, example: string): string => {
  if (/^\d{1,9}[smhd]$/.test(text)) return new Date(Date.now() + sign * duration(option, text) * 1000).toISOString()
  const at = /^\d{4}-\d\d-\d\d(?:T.*(?:Z|[+-]\d\d:?\d\d))?$/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(at)) return new Date(at).toISOString()
  throw new WrongUsage(
    `${option} takes an instant such as 2026-01-31T12:00:00Z, or ${example}, and not ${JSON.stringify(text)}.`
  )
}

/** RFC 3339 of an instant, or of an elapsed time: `2026-01-31T12:00:00Z`, `15m`. */
export const instant = (option: string, text: string): string => instantFrom(option, text, -1, "a time ago such as 15m")

/** RFC 3339 of an instant, or of a time from now: `2026-01-31T12:00:00Z`, `7d`. */
export const later = (option: string, text: string): string =>
  instantFrom(option, text, 1, "a time from now such as 7d")

export const oneOf = <const A extends string>(option: string, text: string, known: ReadonlyArray<A>): A => {
  const found = known.find((one) => one === text)
  if (found !== undefined) return found
  throw new WrongUsage(`${option} takes ${known.join(", ")}, and not ${JSON.stringify(text)}.`)
}

const pairOf = (text: string): readonly [name: string, value: string] | null => {
  const at = text.indexOf("=")
  return at < 1 ? null : [text.slice(0, at), text.slice(at + 1)]
}

export const pairs = (option: string, texts: ReadonlyArray<string> = []): Readonly<Record<string, string>> =>
  Object.fromEntries(
    texts.map((text) => {
      const pair = pairOf(text)
      if (pair === null) throw new WrongUsage(`${option} takes KEY=VALUE, and not ${JSON.stringify(text)}.`)
      return pair
    })
  )

const fileLines = (path: string): ReadonlyArray<string> => {
  try {
    return readFileSync(path, "utf8").split(/\r?\n/)
  } catch (thrown) {
    throw new Refused(`${path} cannot be read: ${(thrown as Error).message}`)
  }
}

/**
 * Variables: those of files first, then the single ones. `NAME` alone takes the value from this process's own
 * environment, which keeps it out of the shell's history and the list of processes.
 */
export const variables = ({
  env = [],
  "env-from": files = []
}: {
  readonly env?: ReadonlyArray<string> | undefined
  readonly "env-from"?: ReadonlyArray<string> | undefined
}): Readonly<Record<string, string>> => {
  const all = new Map<string, string>()
  for (const path of files) {
    for (const [at, line] of fileLines(path).entries()) {
      if (line.trim() === "" || line.startsWith("#")) continue
      const pair = pairOf(line)
      // The value may be secret: the message gives its place.
      if (pair === null) throw new Refused(`Line ${at + 1} of ${path} is not NAME=VALUE.`)
      all.set(...pair)
    }
  }
  for (const text of env) {
    const pair = pairOf(text)
    const value = pair === null ? process.env[text] : pair[1]
    if (value === undefined) throw new WrongUsage(`--env ${text}: there is no such variable here. Give ${text}=VALUE.`)
    all.set(pair === null ? text : pair[0], value)
  }
  return Object.fromEntries(all)
}

/** Node takes an `--env-file` for itself, at any place. */
export const variableOptions = {
  env: {
    type: "string",
    short: "e",
    multiple: true,
    value: "NAME[=VALUE]",
    description: "A variable; without a value, as it is here. May be repeated"
  },
  "env-from": {
    type: "string",
    multiple: true,
    value: "FILE",
    description: "Variables, one NAME=VALUE a line; # begins a comment",
    completes: "file"
  }
} as const
