/** What the operator does with API keys: for the command line and for the operator's page, in the same words. */
import { Effect, Schema } from "effect"
import { scopes as allScopes, Scope } from "../../../../schemas/Access.ts"
import { type Account, Accounts } from "../../../account/Accounts.ts"
import { type ApiKey, ApiKeys } from "../../../account/ApiKeys.ts"
import { noteOperator } from "../../../account/OperatorAudit.ts"
import type { Done } from "./Done.ts"
import { Refused, WrongUsage } from "./refusals.ts"
import { time } from "./times.ts"
import { together } from "./together.ts"

const isScope = Schema.is(Scope)

/** Scopes separated by commas, or `all`. */
export const parseScopes = (text: string): Effect.Effect<ReadonlyArray<Scope>, WrongUsage> => {
  if (text === "all") return Effect.succeed(allScopes)
  const names = [...new Set(text.split(",").map((name) => name.trim()))]
  const unknown = names.filter((name) => !isScope(name))
  return unknown.length > 0
    ? Effect.fail(
        new WrongUsage({
          message: `There is no scope ${unknown.map((name) => JSON.stringify(name)).join(", ")}. Scopes: ${allScopes.join(", ")}; or all.`
        })
      )
    : Effect.succeed(names.filter(isScope))
}

/** The output of `--json`. */
export const keyDocument = (key: ApiKey, accountName: string) => ({
  id: key.id,
  accountId: key.accountId,
  accountName,
  name: key.name,
  hint: key.hint,
  scopes: key.scopes,
  createdAt: new Date(key.createdAt).toISOString(),
  lastUsedAt: time(key.lastUsedAt),
  expiresAt: time(key.expiresAt),
  revokedAt: time(key.revokedAt),
  lastUsedFrom: key.lastUsedFrom,
  revokedBy: key.revokedBy
})

interface NewKey {
  readonly account: Account
  readonly name: string
  readonly scopes: ReadonlyArray<Scope>
  /** Epoch milliseconds; null: never. */
  readonly expiresAt: number | null
}

/** `secret` is available only here: it is stored as a hash, and in no log. */
export const createKey = Effect.fn("operating.createKey")(function* ({ account, name, scopes, expiresAt }: NewKey) {
  const keys = yield* ApiKeys
  const { key, secret } = yield* together(
    Effect.tap(keys.create({ accountId: account.id, name, scopes, expiresAt }), ({ key: { id } }) =>
      noteOperator({
        accountId: account.id,
        action: "createKey",
        targetType: "apiKey",
        targetId: id,
        status: 201,
        errorCode: null
      })
    )
  )
  return {
    said: [
      `made the key ${key.id}; its secret is not shown again`,
      ...(account.suspendedAt === null ? [] : ["the account is suspended: its keys are refused until it is resumed"])
    ].join("\n"),
    link: null,
    secret,
    document: { key: keyDocument(key, account.name), secret }
  } satisfies Done
})

export const revokeKey = Effect.fn("operating.revokeKey")(function* (id: string) {
  const keys = yield* ApiKeys
  const revoked = yield* together(
    Effect.gen(function* () {
      yield* keys.revoke(id, "operator")
      const key = yield* keys.get(id)
      if (key === null) return null
      yield* noteOperator({
        accountId: key.accountId,
        action: "revokeKey",
        targetType: "apiKey",
        targetId: id,
        status: 200,
        errorCode: null
      })
      return key
    })
  )
  if (revoked === null) {
    return yield* new Refused({ message: `There is no API key ${JSON.stringify(id)}. atoll keys list shows them.` })
  }
  const account = yield* (yield* Accounts).get(revoked.accountId)
  const done: Done = {
    said: `${id} is revoked.`,
    link: null,
    secret: null,
    document: { key: keyDocument(revoked, account!.name) }
  }
  return done
})
