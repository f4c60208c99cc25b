/**
 * Settings with the address at which `npm run up` last served this data folder, where neither ATOLL_PUBLIC_URL nor ATOLL_PORT says another: a printed
 * link is opened in a browser, and the command may run in another terminal than the service.
 */
import { Effect, Layer } from "effect"
import { Settings } from "../Config.ts"
import { readCredentials } from "../platform/dataFolder/Credentials.ts"

export const settingsAsServed = Layer.effect(
  Settings,
  Effect.gen(function* () {
    const settings = yield* Settings
    if (settings.publicUrl !== null || process.env["ATOLL_PORT"] !== undefined) return settings
    const last = yield* Effect.promise(() => readCredentials(settings.dataDir))
    return last === null ? settings : { ...settings, publicUrl: last.url }
  })
).pipe(Layer.provide(Settings.layer))
