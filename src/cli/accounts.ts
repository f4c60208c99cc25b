/** `atoll accounts create|list|show|suspend|resume|limits` */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { OwnLimits } from "../account/AccountLimits.ts"
import { Accounts, billings } from "../account/Accounts.ts"
import {
  createAccount,
  knownAccount,
  resumeAccount,
  setAccountLimits,
  suspendAccount
} from "../console/server/operating/accountActs.ts"
import { accountDocument } from "../console/server/operating/accountDocument.ts"
import { balanceDocument } from "../console/server/operating/balanceDocument.ts"
import { WrongUsage } from "../console/server/operating/refusals.ts"
import { shownTime } from "../console/server/operating/times.ts"
import { int4Max, limit, storageMax, usd } from "../console/server/operating/values.ts"
import { Ledger } from "../wallet/Ledger.ts"
import { accountRows, limitRows } from "./account.ts"
import { answer } from "./answer.ts"
import { balanceRows } from "./balance.ts"
import { Name } from "./Name.ts"
import { recover } from "./recover.ts"
import { list as rowsOf, table } from "./table.ts"

const named = Argument.String("account").pipe(Argument.withDescription("Its name or id"))

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const accounts = yield* (yield* Accounts).list
    yield* answer(
      table(
        ["ID", "NAME", "EMAIL", "BILLING", "CREATED", "SUSPENDED"],
        accounts.map((account) => [
          account.id,
          account.name,
          account.email ?? "-",
          account.billing,
          shownTime(account.createdAt),
          shownTime(account.suspendedAt)
        ])
      ),
      { accounts: yield* Effect.forEach(accounts, accountDocument) }
    )
  })
).pipe(Command.withDescription("List the accounts, oldest first"))

/** The name is an argument or the value of `--name`. */
const oneName = (argument: Option.Option<string>, flag: Option.Option<string>): Effect.Effect<string, WrongUsage> => {
  const names = [argument, flag].flatMap(Option.toArray)
  return names.length === 1
    ? Effect.succeed(names[0]!)
    : Effect.fail(new WrongUsage({ message: "Give the account one name: atoll accounts create --name NAME." }))
}

const create = Command.make(
  "create",
  {
    argument: Argument.String("name").pipe(
      Argument.withDescription("The same as --name"),
      Argument.withSchema(Name),
      Argument.optional
    ),
    flag: Flag.String("name").pipe(Flag.withDescription("A unique name"), Flag.withSchema(Name), Flag.optional),
    email: Flag.String("email").pipe(Flag.withDescription("An address, for display"), Flag.optional),
    billing: Flag.Literals("billing", billings).pipe(
      Flag.withDescription("unlimited: usage is only recorded. prepaid: usage is limited to the account's credit"),
      Flag.withDefault("unlimited")
    ),
    creditUsd: Flag.String("credit-usd").pipe(
      Flag.withDescription("Initial credit of a prepaid account in dollars, without an expiry: 12.50"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* ({ argument, flag, email, billing, creditUsd }) {
    const name = yield* oneName(argument, flag)
    const creditMicroUsd = Option.isNone(creditUsd) ? null : yield* usd("--credit-usd", creditUsd.value)
    const { said, document } = yield* createAccount({ name, email: Option.getOrNull(email), billing, creditMicroUsd })
    yield* answer(said, document)
  })
).pipe(
  Command.withDescription(
    "Create an account and print its id. A prepaid account made here has no credit but --credit-usd: promotional credit comes with invitations"
  )
)

const show = Command.make(
  "show",
  { account: named },
  Effect.fnUntraced(function* ({ account: nameOrId }) {
    const account = yield* knownAccount(nameOrId)
    const document = yield* accountDocument(account)
    const balance = yield* (yield* Ledger).balance(account.id)
    yield* answer(rowsOf([...accountRows(account), ...balanceRows(balance), ...limitRows(document)]), {
      account: document,
      balance: balanceDocument(balance)
    })
  })
).pipe(Command.withDescription("Show an account: its state, its money and its limits"))

const suspend = Command.make(
  "suspend",
  { account: named },
  Effect.fnUntraced(function* ({ account: nameOrId }) {
    const { said, document } = yield* suspendAccount(nameOrId)
    yield* answer(said, document)
  })
).pipe(Command.withDescription("Refuse the keys of an account and stop its Sandboxes; nothing is deleted"))

const resume = Command.make(
  "resume",
  { account: named },
  Effect.fnUntraced(function* ({ account: nameOrId }) {
    const { said, document } = yield* resumeAccount(nameOrId)
    yield* answer(said, document)
  })
).pipe(Command.withDescription("Accept the keys of a suspended account again"))

const limitFlag = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(`${description}; or setting: the limit of the settings`), Flag.optional)

/** Absent: unchanged; `setting` removes the account's own limit. */
const limitOf = <K extends keyof OwnLimits>(key: K, flag: string, text: Option.Option<string>, maximum: bigint) =>
  Option.match(text, {
    onNone: () => Effect.succeed({}),
    onSome: (value) => Effect.map(limit(flag, value, maximum), (found) => ({ [key]: found }))
  }) as Effect.Effect<Partial<OwnLimits>, WrongUsage>

const limits = Command.make(
  "limits",
  {
    account: named,
    sandboxes: limitFlag("sandboxes", "Sandboxes, stopped ones included"),
    workspaces: limitFlag("workspaces", "Workspaces"),
    workspaceStorageBytes: limitFlag("workspace-storage-bytes", "Sum of the volume sizes of one workspace")
  },
  Effect.fnUntraced(function* ({ account: nameOrId, sandboxes, workspaces, workspaceStorageBytes }) {
    const wanted: Partial<OwnLimits> = {
      ...(yield* limitOf("sandboxes", "--sandboxes", sandboxes, int4Max)),
      ...(yield* limitOf("workspaces", "--workspaces", workspaces, int4Max)),
      ...(yield* limitOf("workspaceStorageBytes", "--workspace-storage-bytes", workspaceStorageBytes, storageMax))
    }
    const document = yield* setAccountLimits(nameOrId, wanted)
    yield* answer(rowsOf(limitRows(document)), { account: document })
  })
).pipe(
  Command.withDescription(
    "Set limits of an account that override the settings, and show them. What the account already has above a limit stays"
  )
)

export const accounts = Command.make("accounts").pipe(
  Command.withDescription(
    "Create accounts, show them, suspend and resume them, set their limits, and print links to recover them"
  ),
  Command.withSubcommands([create, list, show, suspend, resume, limits, recover])
)
