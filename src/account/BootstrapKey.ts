/** At start: ATOLL_BOOTSTRAP_API_KEY becomes the first account's full-scope key. */
import { Effect, Layer, Redacted } from "effect"
import { Settings } from "../Config.ts"
import { ApiKeys } from "./ApiKeys.ts"

export const BootstrapKey = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { bootstrapApiKey } = yield* Settings
      const keys = yield* ApiKeys
      if (bootstrapApiKey !== null) yield* keys.bootstrap(Redacted.value(bootstrapApiKey))
    })
  )
}
