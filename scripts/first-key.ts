/**
 * Prints a full-scope API key of a fresh database, once; nothing if there are keys already.
 * Run by `npm run up` beside the service. The secret is stored nowhere (contract.md, "API key").
 */
import { NodeRuntime } from "@effect/platform-node"
import { Effect, Layer, References } from "effect"
import { scopes } from "../schemas/Access.ts"
import { Accounts } from "../src/account/Accounts.ts"
import { ApiKeys } from "../src/account/ApiKeys.ts"
import { Settings } from "../src/Config.ts"
import { Database } from "../src/store/Database.ts"

const firstKey = Effect.gen(function* () {
  const accounts = yield* Accounts
  const keys = yield* ApiKeys
  if ((yield* keys.list(null)).length > 0) return
  const account = yield* accounts.named("default")
  const { secret } = yield* keys.create({ accountId: account.id, name: "Development", scopes })
  console.log(secret)
})

NodeRuntime.runMain(
  firstKey.pipe(
    Effect.provide(
      Layer.mergeAll(Accounts.layer, ApiKeys.layer).pipe(Layer.provide(Database.layer), Layer.provide(Settings.layer))
    ),
    Effect.provideService(References.MinimumLogLevel, "Warn")
  )
)
