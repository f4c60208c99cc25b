/** Looks at this host with these settings: changes nothing, boots nothing, and starts at most the database that is there. */
import { Effect } from "effect"
import { Settings } from "../Config.ts"
import type { Finding } from "./Finding.ts"
import { sandboxFindings } from "./sandboxFindings.ts"
import { serviceFindings } from "./serviceFindings.ts"
import { systemFindings } from "./systemFindings.ts"

export const examine: Effect.Effect<ReadonlyArray<Finding>, never, Settings> = Effect.gen(function* () {
  const settings = yield* Settings
  return [
    ...(yield* Effect.promise(() => systemFindings(settings))),
    ...(yield* sandboxFindings(settings)),
    ...(yield* serviceFindings(settings))
  ]
})
