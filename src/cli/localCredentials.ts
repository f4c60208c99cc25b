/** The file in the data folder in which `npm run up` stores the address and the first key, in the form of `atoll login`. */
import { Effect } from "effect"
import { Settings } from "../Config.ts"
import { credentialsIn } from "../platform/dataFolder/Credentials.ts"

export const localCredentialsPath = (): Promise<string> =>
  Effect.runPromise(Effect.map(Settings, ({ dataDir }) => credentialsIn(dataDir)).pipe(Effect.provide(Settings.layer)))
