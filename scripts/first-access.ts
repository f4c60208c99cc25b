/**
 * For `npm run up`, beside the service: prints as JSON `{"secret", "code"}`, each null where there is one already.
 * `secret`: a full-scope API key of a database that has no key. `code`: of a link that signs in to the first account,
 * once, while no user can sign in otherwise. Neither is stored (contract.md, "API key").
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer, References } from "effect"
import { scopes } from "../schemas/Access.ts"
import { Accounts } from "../src/account/Accounts.ts"
import { ApiKeys } from "../src/account/ApiKeys.ts"
import { Settings } from "../src/Config.ts"
import { SignInLinks } from "../src/console/server/SignInLinks.ts"
import { Database } from "../src/store/Database.ts"

const firstAccess = Effect.gen(function* () {
  const accounts = yield* Accounts
  const keys = yield* ApiKeys
  const links = yield* SignInLinks
  const account = (yield* accounts.list)[0] ?? (yield* accounts.named("default"))
  const hasKeys = (yield* keys.list(null)).length > 0
  const made = hasKeys ? null : yield* keys.create({ accountId: account.id, name: "Development", scopes })
  const link = (yield* links.isAnybodyKnown) ? null : yield* links.create(account.id)
  console.log(JSON.stringify({ secret: made?.secret ?? null, code: link?.code ?? null }))
})

NodeRuntime.runMain(
  firstAccess.pipe(
    Effect.provide(
      Layer.mergeAll(Accounts.layer, ApiKeys.layer, SignInLinks.layer).pipe(
        Layer.provide(Database.layer),
        Layer.provide(Settings.layer)
      )
    ),
    Effect.provideService(References.MinimumLogLevel, "Warn")
  )
)
