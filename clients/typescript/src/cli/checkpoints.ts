/** The options of the snapshots that a Sandbox takes by itself. */
import type { CreateSandboxRequest } from "../generated/schemas.ts"
import { WrongUsage } from "./failure.ts"
import { duration, whole } from "./values.ts"

const keepMax = 100
const never = "never"

export const checkpointOptions = {
  "checkpoint-every": {
    type: "string",
    value: "TIME",
    description: `Take a snapshot whenever it has run for so long, or ${never}: 60s to 7d`
  },
  "checkpoint-keep": { type: "string", value: "COUNT", description: "How many of those snapshots stay; 5 by default" },
  "checkpoint-on-stop": { type: "boolean", description: "Take a snapshot when it has stopped" },
  "no-checkpoints": { type: "boolean", description: "Take none by itself" }
} as const

interface Given {
  readonly "checkpoint-every"?: string | undefined
  readonly "checkpoint-keep"?: string | undefined
  readonly "checkpoint-on-stop"?: boolean | undefined
  readonly "no-checkpoints"?: boolean | undefined
}

/** Undefined: nothing is said of them. Null: there are to be none. */
export const checkpoints = (options: Given): CreateSandboxRequest["checkpoints"] | undefined => {
  const { "checkpoint-every": every, "checkpoint-keep": keep, "checkpoint-on-stop": onStop } = options
  const parts = {
    ...(every === undefined ? {} : { everySeconds: every === never ? null : duration("--checkpoint-every", every) }),
    ...(keep === undefined ? {} : { keep: whole("--checkpoint-keep", keep, 1, keepMax) }),
    ...(onStop === true ? { onStop: true } : {})
  }
  const isAny = Object.keys(parts).length > 0
  if (options["no-checkpoints"] !== true) return isAny ? parts : undefined
  if (isAny) throw new WrongUsage("Say either --no-checkpoints, or which checkpoints.")
  return null
}
