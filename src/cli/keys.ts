/** `atoll keys create|list|revoke` */
import { Clock, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { scopes as allScopes } from "../../schemas/Access.ts"
import { Accounts } from "../account/Accounts.ts"
import { type ApiKey, ApiKeys } from "../account/ApiKeys.ts"
import { noteOperator } from "../account/OperatorAudit.ts"
import { knownAccount } from "../console/server/operating/accountActs.ts"
import { createKey, keyDocument, parseScopes, revokeKey } from "../console/server/operating/keyActs.ts"
import { shownTime } from "../console/server/operating/times.ts"
import { together } from "../console/server/operating/together.ts"
import { future } from "../console/server/operating/values.ts"
import { accountFlag } from "./account.ts"
import { answer, remark } from "./answer.ts"
import { Name } from "./Name.ts"
import { table } from "./table.ts"

/** The account of this name, made and recorded if there is none. */
const named = Effect.fnUntraced(function* (name: string) {
  const account = yield* (yield* Accounts).named(name)
  if (account.isNew) {
    yield* noteOperator({
      accountId: account.id,
      action: "createAccount",
      targetType: "account",
      targetId: account.id,
      status: 201,
      errorCode: null
    })
  }
  return account
})

const create = Command.make(
  "create",
  {
    account: Flag.String("account").pipe(
      Flag.withDescription("The account's name or id; an unknown name becomes an unlimited account"),
      Flag.withSchema(Name)
    ),
    scopes: Flag.String("scopes").pipe(Flag.withDescription(`Separated by commas, or all: ${allScopes.join(", ")}`)),
    name: Flag.String("name").pipe(
      Flag.withDescription("A name for the key"),
      Flag.withSchema(Name),
      Flag.withDefault("Development")
    ),
    expiresAt: Flag.String("expires-at").pipe(
      Flag.withDescription("Its expiry: 2027-01-31T12:00:00Z. Absent: never"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* ({ account: nameOrId, scopes, name, expiresAt }) {
    const wanted = yield* parseScopes(scopes)
    const until = Option.isNone(expiresAt) ? null : yield* future("--expires-at", expiresAt.value)
    const accounts = yield* Accounts
    const known = yield* accounts.find(nameOrId)
    const account = known === null ? yield* together(named(nameOrId)) : { ...known, isNew: false }
    if (account.isNew) {
      yield* remark(`made the account ${JSON.stringify(account.name)} (${account.id}), unlimited`)
    }
    const { said, secret, document } = yield* createKey({ account, name, scopes: wanted, expiresAt: until })
    for (const sentence of said.split("\n")) yield* remark(sentence)
    yield* answer(secret, { account: { id: account.id, name: account.name, isNew: account.isNew }, ...document })
  })
).pipe(Command.withDescription("Create an API key and print its secret, which is never shown again"))

const list = Command.make(
  "list",
  { account: accountFlag.pipe(Flag.optional) },
  Effect.fnUntraced(function* ({ account }) {
    const only = Option.isNone(account) ? null : yield* knownAccount(account.value)
    const names = new Map((yield* (yield* Accounts).list).map(({ id, name }) => [id, name]))
    const nameOf = ({ accountId }: ApiKey) => names.get(accountId) ?? accountId
    const keys = yield* (yield* ApiKeys).list(only?.id ?? null)
    const now = yield* Clock.currentTimeMillis
    yield* answer(
      table(
        ["ID", "ACCOUNT", "NAME", "HINT", "SCOPES", "CREATED", "LAST USED", "EXPIRES", "REVOKED"],
        keys.map((key) => [
          key.id,
          nameOf(key),
          key.name,
          `…${key.hint}`,
          key.scopes.join(","),
          shownTime(key.createdAt),
          shownTime(key.lastUsedAt),
          `${shownTime(key.expiresAt)}${key.expiresAt !== null && key.expiresAt <= now ? " (expired)" : ""}`,
          shownTime(key.revokedAt)
        ])
      ),
      { keys: keys.map((key) => keyDocument(key, nameOf(key))) }
    )
  })
).pipe(Command.withDescription("List API keys, including expired and revoked ones"))

const revoke = Command.make(
  "revoke",
  { id: Argument.String("id").pipe(Argument.withDescription("The key's id: key_…")) },
  Effect.fnUntraced(function* ({ id }) {
    const { said, document } = yield* revokeKey(id)
    yield* answer(said, document)
  })
).pipe(Command.withDescription("Revoke an API key: once this returns, no process accepts it"))

export const keys = Command.make("keys").pipe(
  Command.withDescription("Create, list and revoke API keys"),
  Command.withSubcommands([create, list, revoke])
)
