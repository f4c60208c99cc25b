/** `atoll accounts list|create` */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Accounts } from "../account/Accounts.ts"
import { answer } from "./answer.ts"
import { Name } from "./Name.ts"
import { shownTime, table } from "./table.ts"

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const accounts = yield* (yield* Accounts).list
    yield* answer(
      table(
        ["ID", "NAME", "EMAIL", "CREATED"],
        accounts.map((account) => [account.id, account.name, account.email ?? "-", shownTime(account.createdAt)])
      )
    )
  })
).pipe(Command.withDescription("List the accounts, oldest first"))

const create = Command.make(
  "create",
  {
    name: Argument.String("name").pipe(Argument.withDescription("A name of its own"), Argument.withSchema(Name)),
    email: Flag.String("email").pipe(Flag.withDescription("For people to see"), Flag.optional)
  },
  Effect.fnUntraced(function* ({ name, email }) {
    const account = yield* (yield* Accounts).create({ name, email: Option.getOrNull(email) })
    yield* answer(account.id)
  })
).pipe(Command.withDescription("Create an account and print its id"))

export const accounts = Command.make("accounts").pipe(
  Command.withDescription("List and create accounts"),
  Command.withSubcommands([list, create])
)
