/**
 * For `npm run up`, beside the service: `first-access.ts ADDRESS` prints as JSON `{"secret", "isLoggedIn", "code"}`.
 *
 * `secret`: a full-scope API key of a database that has no key, else null. It is also stored in the data folder, so that the command line of this
 * folder can use it. `isLoggedIn`: a stored key is valid. `code`: of a link that signs in to the first account once, until somebody can sign in, else null.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Clock, Effect, Layer, References } from "effect"
import { scopes } from "../schemas/Access.ts"
import { Accounts } from "../src/account/Accounts.ts"
import { hintOf } from "../src/account/ApiKeySecret.ts"
import { type ApiKey, ApiKeys } from "../src/account/ApiKeys.ts"
import { Settings } from "../src/Config.ts"
import { SignInLinks } from "../src/console/server/SignInLinks.ts"
import { readCredentials, writeCredentials } from "../src/platform/dataFolder/Credentials.ts"
import { Database } from "../src/store/Database.ts"

const firstAccess = Effect.fnUntraced(function* (url: string) {
  const { dataDir } = yield* Settings
  const accounts = yield* Accounts
  const keys = yield* ApiKeys
  const links = yield* SignInLinks
  const account = (yield* accounts.list)[0] ?? (yield* accounts.named("default"))
  const known = yield* keys.list(null)
  const made = known.length > 0 ? null : yield* keys.create({ accountId: account.id, name: "Development", scopes })
  const now = yield* Clock.currentTimeMillis
  const isValid = ({ hint, revokedAt, expiresAt }: ApiKey, secret: string) =>
    hint === hintOf(secret) && revokedAt === null && (expiresAt === null || expiresAt > now)
  const stored = (yield* Effect.promise(() => readCredentials(dataDir)))?.apiKey ?? null
  const apiKey = made?.secret ?? (stored !== null && known.some((key) => isValid(key, stored)) ? stored : null)
  // The address may be another one at each start.
  if (apiKey !== null) yield* Effect.promise(() => writeCredentials(dataDir, { url, apiKey }))
  const link = (yield* links.isAnybodyKnown) ? null : yield* links.create(account.id)
  console.log(JSON.stringify({ secret: made?.secret ?? null, isLoggedIn: apiKey !== null, code: link?.code ?? null }))
})

NodeRuntime.runMain(
  firstAccess(process.argv[2] ?? "").pipe(
    Effect.provide(
      Layer.mergeAll(Accounts.layer, ApiKeys.layer, SignInLinks.layer).pipe(
        Layer.provide(Database.layer),
        Layer.provideMerge(Settings.layer)
      )
    ),
    Effect.provideService(References.MinimumLogLevel, "Warn")
  )
)
