/** API keys in the console. The secret is only in the response that creates a key. */
import { Clock, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { Caller } from "../../../schemas/Access.ts"
import { ConsoleApi } from "../../../schemas/console/ConsoleApi.ts"
import type { ConsoleKey } from "../../../schemas/console/Keys.ts"
import { NotFound } from "../../../schemas/Errors.ts"
import { parseInstant } from "../../../schemas/Query.ts"
import { type ApiKey, ApiKeys } from "../../account/ApiKeys.ts"
import { KeyUse, type Use } from "../../account/KeyUse.ts"
import { Attempts, keyRate } from "../../console/server/Attempts.ts"
import { noteTarget } from "./AuditedRequest.ts"
import { invalidRequest } from "./ErrorResponse.ts"
import { jsonAnswer } from "./JsonAnswer.ts"
import { leanGroup } from "./LeanContext.ts"

const timestamp = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

/** @param use A use that is not stored yet. */
const shown = (key: ApiKey, use: Use | null): ConsoleKey => ({
  id: key.id,
  name: key.name,
  hint: key.hint,
  scopes: key.scopes,
  createdAt: timestamp(key.createdAt)!,
  lastUsedAt: timestamp(use?.at ?? key.lastUsedAt),
  lastUsedFrom: use === null ? key.lastUsedFrom : use.address,
  expiresAt: timestamp(key.expiresAt),
  revokedAt: timestamp(key.revokedAt),
  revokedBy: key.revokedBy
})

const unkept = (body: object, status = 200) =>
  HttpServerResponse.setHeader(jsonAnswer(body, status), "cache-control", "no-store")

/** Epoch milliseconds of an instant in the future. */
const future = Effect.fnUntraced(function* (text: string | null) {
  if (text === null) return null
  const at = parseInstant(text)!
  if (at > (yield* Clock.currentTimeMillis)) return at
  return yield* invalidRequest([{ path: ["expiresAt"], message: "Expected an instant in the future" }])
})

export const ConsoleKeysHandlers = {
  layer: leanGroup(
    ConsoleApi,
    "keys",
    Effect.fnUntraced(function* (handlers) {
      const keys = yield* ApiKeys
      const use = yield* KeyUse
      const attempts = yield* Attempts
      const mayMake = (accountId: string) => attempts.take(`keys ${accountId}`, keyRate)
      return handlers
        .handle("listKeys", () =>
          Effect.flatMap(Caller, ({ accountId }) =>
            Effect.map(keys.list(accountId), (found) =>
              unkept({ keys: found.map((key) => shown(key, use.unwritten(key.id))) })
            )
          )
        )
        .handle(
          "createKey",
          Effect.fnUntraced(function* ({ payload, request }) {
            const { accountId } = yield* Caller
            const expiresAt = yield* future(payload.expiresAt)
            yield* mayMake(accountId)
            const scopes = [...new Set(payload.scopes)]
            const { key, secret } = yield* keys.create({ accountId, name: payload.name, scopes, expiresAt })
            noteTarget(request, key.id)
            return unkept({ key: shown(key, null), secret }, 201)
          }),
          { uninterruptible: true }
        )
        .handle(
          "revokeKey",
          Effect.fnUntraced(function* ({ params }) {
            const { accountId } = yield* Caller
            if (!(yield* keys.revoke(params.id, "console", accountId))) return yield* new NotFound()
            return unkept({ key: shown((yield* keys.get(params.id))!, use.unwritten(params.id)) })
          }),
          { uninterruptible: true }
        )
        .handle(
          "rotateKey",
          Effect.fnUntraced(function* ({ params }) {
            const { accountId } = yield* Caller
            yield* mayMake(accountId)
            const made = yield* keys.rotate(params.id, "console", accountId)
            if (made === null) {
              return yield* new NotFound({ message: "The account has no such valid key. Create another one." })
            }
            return unkept({ key: shown(made.key, null), secret: made.secret }, 201)
          }),
          { uninterruptible: true }
        )
    })
  )
}
