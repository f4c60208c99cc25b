/** Examines this host with these settings, for its role. Changes nothing, boots nothing, and at most starts the existing database. */
import { Effect } from "effect"
import { Settings } from "../../Config.ts"
import type { Finding } from "./Finding.ts"
import { fleetFindings } from "./fleetFindings.ts"
import { registryFindings } from "./registryFindings.ts"
import { sandboxFindings } from "./sandboxFindings.ts"
import { serviceFindings } from "./serviceFindings.ts"
import { systemFindings } from "./systemFindings.ts"

export const examine: Effect.Effect<ReadonlyArray<Finding>, never, Settings> = Effect.gen(function* () {
  const settings = yield* Settings
  return [
    ...(yield* Effect.promise(() => systemFindings(settings))),
    // A service of a fleet runs no Sandboxes, and a host has no database.
    ...(settings.role === "service" ? [] : yield* sandboxFindings(settings)),
    ...(yield* serviceFindings(settings)),
    ...(yield* Effect.promise(() => registryFindings(settings))),
    ...fleetFindings(settings)
  ]
})
