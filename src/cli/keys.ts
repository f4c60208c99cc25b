/** `atoll keys create|list|revoke` */
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { scopes as allScopes, Scope } from "../../schemas/Access.ts"
import { Accounts } from "../account/Accounts.ts"
import { ApiKeys } from "../account/ApiKeys.ts"
import { answer } from "./answer.ts"
import { Name } from "./Name.ts"
import { shownTime, table } from "./table.ts"

class Refused extends Schema.TaggedError<Refused>()("Refused", { message: Schema.String }) {}

const isScope = Schema.is(Scope)

const parseScopes = (text: string) => {
  if (text === "all") return Effect.succeed(allScopes as ReadonlyArray<Scope>)
  const names = [...new Set(text.split(",").map((name) => name.trim()))]
  const unknown = names.filter((name) => !isScope(name))
  return unknown.length > 0
    ? Effect.fail(
        new Refused({
          message: `There is no scope ${unknown.map((name) => JSON.stringify(name)).join(", ")}. Scopes: ${allScopes.join(", ")}; or all.`
        })
      )
    : Effect.succeed(names.filter(isScope))
}

const create = Command.make(
  "create",
  {
    account: Flag.String("account").pipe(
      Flag.withDescription("The account's name; made if there is none"),
      Flag.withSchema(Name)
    ),
    scopes: Flag.String("scopes").pipe(Flag.withDescription(`Separated by commas, or all: ${allScopes.join(", ")}`)),
    name: Flag.String("name").pipe(
      Flag.withDescription("A name for the key"),
      Flag.withSchema(Name),
      Flag.withDefault("Development")
    )
  },
  Effect.fnUntraced(function* ({ account, scopes, name }) {
    const wanted = yield* parseScopes(scopes)
    const { id } = yield* (yield* Accounts).named(account)
    const { secret } = yield* (yield* ApiKeys).create({ accountId: id, name, scopes: wanted })
    yield* answer(secret)
  })
).pipe(Command.withDescription("Create an API key and print its secret, which is never shown again"))

const list = Command.make(
  "list",
  { account: Flag.String("account").pipe(Flag.withDescription("Only this account's"), Flag.optional) },
  Effect.fnUntraced(function* ({ account }) {
    const known = yield* (yield* Accounts).list
    const wanted = Option.getOrNull(account)
    const chosen = known.find(({ name }) => name === wanted)
    if (wanted !== null && chosen === undefined) {
      return yield* new Refused({ message: `There is no account named ${JSON.stringify(wanted)}.` })
    }
    const names = new Map(known.map(({ id, name }) => [id, name]))
    const keys = yield* (yield* ApiKeys).list(chosen?.id ?? null)
    yield* answer(
      table(
        ["ID", "ACCOUNT", "NAME", "HINT", "SCOPES", "CREATED", "LAST USED", "REVOKED"],
        keys.map((key) => [
          key.id,
          names.get(key.accountId) ?? key.accountId,
          key.name,
          `…${key.hint}`,
          key.scopes.join(","),
          shownTime(key.createdAt),
          shownTime(key.lastUsedAt),
          shownTime(key.revokedAt)
        ])
      )
    )
  })
).pipe(Command.withDescription("List API keys, revoked ones included"))

const revoke = Command.make(
  "revoke",
  { id: Argument.String("id").pipe(Argument.withDescription("The key's id: key_…")) },
  Effect.fnUntraced(function* ({ id }) {
    if (!(yield* (yield* ApiKeys).revoke(id))) {
      return yield* new Refused({ message: `There is no API key ${JSON.stringify(id)}. atoll keys list shows them.` })
    }
    yield* answer(`${id} is revoked.`)
  })
).pipe(Command.withDescription("Revoke an API key: no process accepts it once this returns"))

export const keys = Command.make("keys").pipe(
  Command.withDescription("Create, list and revoke API keys"),
  Command.withSubcommands([create, list, revoke])
)
