import { Effect } from "effect"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { accountLimits } from "../../account/AccountLimits.ts"
import { Accounts } from "../../account/Accounts.ts"
import { type ApiKey, ApiKeys } from "../../account/ApiKeys.ts"
import { KeyUse } from "../../account/KeyUse.ts"
import { Settings } from "../../Config.ts"
import { profileBounds } from "../../sandbox/sandboxSizes.ts"
import { noteTarget } from "./AuditedRequest.ts"
import { invalidRequest } from "./ErrorResponse.ts"
import { leanGroup } from "./LeanContext.ts"

const timestamp = (ms: number): string => new Date(ms).toISOString()

const shownKey = (key: ApiKey, lastUsedAt: number | null) => ({
  id: key.id,
  name: key.name,
  hint: key.hint,
  scopes: key.scopes,
  createdAt: timestamp(key.createdAt),
  lastUsedAt: lastUsedAt === null ? null : timestamp(lastUsedAt)
})

const noKey = () =>
  invalidRequest([
    { path: ["Authorization"], message: "A session has no API key. POST /console/api/sign-out ends the session." }
  ])

export const AccountHandlers = {
  layer: leanGroup(
    Api,
    "account",
    Effect.fnUntraced(function* (handlers) {
      const accounts = yield* Accounts
      const keys = yield* ApiKeys
      const use = yield* KeyUse
      const settings = yield* Settings
      const bounds = profileBounds(settings)
      return handlers
        .handle(
          "getMe",
          Effect.fnUntraced(function* () {
            const { accountId, apiKeyId } = yield* Caller
            const [account, key] = yield* Effect.all(
              [accounts.get(accountId), apiKeyId === null ? Effect.succeed(null) : keys.get(apiKeyId)],
              { concurrency: 2 }
            )
            if (account === null || (key === null && apiKeyId !== null)) {
              return yield* Effect.die("an authenticated key has no account")
            }
            return {
              account: {
                id: account.id,
                name: account.name,
                email: account.email,
                createdAt: timestamp(account.createdAt)
              },
              apiKey: key === null ? null : shownKey(key, use.unwritten(key.id)?.at ?? key.lastUsedAt),
              limits: { ...accountLimits(account.limits, settings), profile: bounds }
            }
          })
        )
        .handle(
          "revokeKey",
          ({ request }) =>
            Effect.flatMap(Caller, ({ apiKeyId }) => {
              if (apiKeyId === null) return Effect.fail(noKey())
              noteTarget(request, apiKeyId)
              return Effect.asVoid(keys.revoke(apiKeyId, "key"))
            }),
          { uninterruptible: true }
        )
    })
  )
}
