/** The operator's page: API keys of all accounts. A secret is only in the response that creates its key. */
import { Effect } from "effect"
import type { OperatedKeys } from "../../../schemas/console/OperatedKeys.ts"
import { OperatorApi } from "../../../schemas/console/OperatorApi.ts"
import { keyPage } from "../../account/keyPage.ts"
import { knownAccount } from "../../console/server/operating/accountActs.ts"
import { createKey, keyDocument, parseScopes, revokeKey } from "../../console/server/operating/keyActs.ts"
import { future } from "../../console/server/operating/values.ts"
import { type ListBinding, openCursor, pageOf } from "../../lists/Paging.ts"
import { leanGroup } from "./LeanContext.ts"
import { acting, operatorServices, refused, unkept } from "./OperatorActs.ts"

const keyIds = /^key_[0-9a-z]{1,60}$/

const group = leanGroup(
  OperatorApi,
  "operatedKeys",
  Effect.fnUntraced(function* (handlers) {
    const services = yield* operatorServices
    return handlers
      .handle(
        "listAllKeys",
        Effect.fnUntraced(function* ({ query: { limit, cursor, account: nameOrId } }) {
          const only =
            nameOrId === undefined
              ? null
              : yield* knownAccount(nameOrId).pipe(Effect.provideContext(services), Effect.mapError(refused))
          const list: ListBinding = ["operator", "keys", only?.id ?? null]
          const before = yield* openCursor(list, cursor ?? null, keyIds)
          const wanted = { limit: limit + 1, before, accountId: only?.id ?? null }
          const found = yield* Effect.provideContext(keyPage(wanted), services)
          const { entries, nextCursor } = pageOf(list, found, limit, ({ key }) => key.id)
          const body: OperatedKeys = {
            keys: entries.map(({ key, accountName }) => keyDocument(key, accountName)),
            nextCursor
          }
          return unkept(body)
        })
      )
      .handle(
        "createKeyOf",
        ({ request, payload: { account, name, scopes, expiresAt } }) =>
          acting(
            request,
            services,
            Effect.gen(function* () {
              const wanted = yield* parseScopes(scopes)
              const until = expiresAt === null ? null : yield* future("--expires-at", expiresAt)
              return yield* createKey({
                account: yield* knownAccount(account),
                name,
                scopes: wanted,
                expiresAt: until
              })
            })
          ),
        { uninterruptible: true }
      )
      .handle("revokeKeyOf", ({ request, params: { keyId } }) => acting(request, services, revokeKey(keyId)), {
        uninterruptible: true
      })
  })
)

export const OperatedKeysHandlers = { layer: group }
