/**
 * The log of the service of a suite, one JSON object a line: in this process by a logger, over a fleet from its
 * services' output.
 */
import { Layer, Logger, References } from "effect"
import { isOverAFleet } from "./fleet/isOverAFleet.ts"
import type { Program } from "./Program.ts"

const lookEveryMs = 50
const withinMs = 60_000

export const lines: Array<string> = []

export const remember = Logger.make((entry) => {
  lines.push(Logger.formatJson.log(entry) as string)
})

/** Provided to the service, which also gets ATOLL_LOG_LEVEL=debug. */
export const rememberAll = Layer.merge(
  Logger.layer([remember]),
  Layer.succeed(References.MinimumLogLevel, "Debug" as const)
)

/** Another process whose lines these are, too. */
export const listenTo = (program: Program): void => {
  let rest = ""
  program.hear((text) => {
    const all = `${rest}${text}`.split("\n")
    rest = all.pop()!
    lines.push(...all.filter((line) => line.startsWith("{")))
  })
}

/** The lines with that text, once there are enough of them: another process's line takes a moment to arrive. */
export const linesWith = async (
  text: string,
  areEnough: (found: ReadonlyArray<string>) => boolean = ({ length }) => length > 0
): Promise<ReadonlyArray<string>> => {
  const found = () => lines.filter((line) => line.includes(text))
  for (const end = Date.now() + withinMs; isOverAFleet && !areEnough(found()) && Date.now() < end; ) {
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
  }
  return found()
}
