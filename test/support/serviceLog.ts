/** What the service that a suite tries writes to its log, one JSON object a line: in this process by a logger, over a fleet by what its services say. */
import { Layer, Logger, References } from "effect"
import { isOverAFleet } from "./fleet/isOverAFleet.ts"
import type { Program } from "./Program.ts"

const lookEveryMs = 50
const withinMs = 60_000

export const lines: Array<string> = []

export const remember = Logger.make((entry) => {
  lines.push(Logger.formatJson.log(entry) as string)
})

/** To be provided to the service, which is told ATOLL_LOG_LEVEL=debug as well. */
export const rememberAll = Layer.merge(
  Logger.layer([remember]),
  Layer.succeed(References.MinimumLogLevel, "Debug" as const)
)

/** A process whose lines these are, too. */
export const listenTo = (program: Program): void => {
  let rest = ""
  program.hear((text) => {
    const all = `${rest}${text}`.split("\n")
    rest = all.pop()!
    lines.push(...all.filter((line) => line.startsWith("{")))
  })
}

/** Those with that text, once there are enough of them: what another process says takes a moment to come here. */
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
