/** `atoll credit grant|balance` */
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { isCharactersBetween, isPlainText } from "../../schemas/Text.ts"
import { knownAccount } from "../console/server/operating/accountActs.ts"
import { balanceDocument } from "../console/server/operating/balanceDocument.ts"
import { grantCredit } from "../console/server/operating/moneyActs.ts"
import { future, usd } from "../console/server/operating/values.ts"
import { grantKinds } from "../wallet/Grant.ts"
import { Ledger } from "../wallet/Ledger.ts"
import { accountFlag } from "./account.ts"
import { answer } from "./answer.ts"
import { balanceProse } from "./balance.ts"

const Description = Schema.String.check(
  isCharactersBetween(1, 256),
  isPlainText,
  Schema.isPattern(/^\P{Cc}*$/u, { expected: "text without control characters" })
)

const grant = Command.make(
  "grant",
  {
    account: accountFlag,
    usd: Flag.String("usd").pipe(Flag.withDescription("Dollars, more than 0, as an exact decimal: 12.50")),
    kind: Flag.Literals("kind", grantKinds).pipe(
      Flag.withDescription("promotional credit is spent first"),
      Flag.withDefault("purchase")
    ),
    expiresAt: Flag.String("expires-at").pipe(
      Flag.withDescription("Its expiry: 2027-01-31T12:00:00Z. Absent: never"),
      Flag.optional
    ),
    description: Flag.String("description").pipe(
      Flag.withDescription("A text that the account sees"),
      Flag.withSchema(Description),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* ({ account: nameOrId, usd: amount, kind, expiresAt, description }) {
    const microUsd = yield* usd("--usd", amount)
    const until = Option.isNone(expiresAt) ? null : yield* future("--expires-at", expiresAt.value)
    const { said, document } = yield* grantCredit({
      account: nameOrId,
      microUsd,
      kind,
      expiresAt: until,
      description: Option.getOrNull(description)
    })
    yield* answer(said, document)
  })
).pipe(Command.withDescription("Give an account credit, which is available immediately"))

const balance = Command.make(
  "balance",
  { account: accountFlag },
  Effect.fnUntraced(function* ({ account: nameOrId }) {
    const account = yield* knownAccount(nameOrId)
    const found = yield* (yield* Ledger).balance(account.id)
    yield* answer(balanceProse(found), { balance: balanceDocument(found) })
  })
).pipe(Command.withDescription("Show an account's remaining credit, and its grants"))

export const credit = Command.make("credit").pipe(
  Command.withDescription("Give accounts credit, and show the remaining credit"),
  Command.withSubcommands([grant, balance])
)
