/** `atoll keys create|list|revoke` */
import { Clock, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { scopes as allScopes, Scope } from "../../schemas/Access.ts"
import { Accounts } from "../account/Accounts.ts"
import { type ApiKey, ApiKeys } from "../account/ApiKeys.ts"
import { noteOperator } from "../account/OperatorAudit.ts"
import { knownAccount } from "../console/server/operating/accountActs.ts"
import { Refused, WrongUsage } from "../console/server/operating/refusals.ts"
import { shownTime, time } from "../console/server/operating/times.ts"
import { future } from "../console/server/operating/values.ts"
import { accountFlag } from "./account.ts"
import { answer, remark } from "./answer.ts"
import { Name } from "./Name.ts"
import { table } from "./table.ts"

const isScope = Schema.is(Scope)

const parseScopes = (text: string): Effect.Effect<ReadonlyArray<Scope>, WrongUsage> => {
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
const keyDocument = (key: ApiKey, accountName: string) => ({
  id: key.id,
  accountId: key.accountId,
  accountName,
  name: key.name,
  hint: key.hint,
  scopes: key.scopes,
  createdAt: time(key.createdAt),
  lastUsedAt: time(key.lastUsedAt),
  expiresAt: time(key.expiresAt),
  revokedAt: time(key.revokedAt),
  lastUsedFrom: key.lastUsedFrom,
  revokedBy: key.revokedBy
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
    const account = known === null ? yield* accounts.named(nameOrId) : { ...known, isNew: false }
    const made = yield* (yield* ApiKeys).create({ accountId: account.id, name, scopes: wanted, expiresAt: until })
    const note = { accountId: account.id, status: 201, errorCode: null }
    if (account.isNew) {
      yield* noteOperator({ ...note, action: "createAccount", targetType: "account", targetId: account.id })
      yield* remark(`made the account ${JSON.stringify(account.name)} (${account.id}), unlimited`)
    }
    yield* noteOperator({ ...note, action: "createKey", targetType: "apiKey", targetId: made.key.id })
    yield* remark(`made the key ${made.key.id}; its secret is not shown again`)
    if (account.suspendedAt !== null)
      yield* remark(`the account is suspended: its keys are refused until it is resumed`)
    yield* answer(made.secret, {
      account: { id: account.id, name: account.name, isNew: account.isNew },
      key: keyDocument(made.key, account.name),
      secret: made.secret
    })
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
    const keys = yield* ApiKeys
    yield* keys.revoke(id, "operator")
    const key = yield* keys.get(id)
    if (key === null) {
      return yield* new Refused({ message: `There is no API key ${JSON.stringify(id)}. atoll keys list shows them.` })
    }
    const account = yield* (yield* Accounts).get(key.accountId)
    yield* noteOperator({
      accountId: key.accountId,
      action: "revokeKey",
      targetType: "apiKey",
      targetId: id,
      status: 200,
      errorCode: null
    })
    yield* answer(`${id} is revoked.`, { key: keyDocument(key, account!.name) })
  })
).pipe(Command.withDescription("Revoke an API key: once this returns, no process accepts it"))

export const keys = Command.make("keys").pipe(
  Command.withDescription("Create, list and revoke API keys"),
  Command.withSubcommands([create, list, revoke])
)
