/** `atoll credit grant|balance` */
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { isCharactersBetween, isPlainText } from "../../schemas/Text.ts"
import { awaitLeases } from "../account/KeyLease.ts"
import { noteOperator } from "../account/OperatorAudit.ts"
import { type GrantKind, grantKinds } from "../wallet/Grant.ts"
import { Ledger } from "../wallet/Ledger.ts"
import { formatUsd } from "../wallet/Money.ts"
import { accountFlag, knownAccount } from "./account.ts"
import { answer } from "./answer.ts"
import { balanceDocument, balanceProse, grantDocument } from "./balance.ts"
import { shownTime } from "./table.ts"
import { future, usd } from "./values.ts"

const Description = Schema.String.check(
  isCharactersBetween(1, 256),
  isPlainText,
  Schema.isPattern(/^\P{Cc}*$/u, { expected: "text without control characters" })
)

const described: Record<GrantKind, string> = {
  promotional: "Promotional credit",
  purchase: "Credit",
  adjustment: "Adjustment"
}

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
    const account = yield* knownAccount(nameOrId)
    const ledger = yield* Ledger
    const note = { accountId: account.id, action: "grantCredit", targetType: "grant" } as const
    const made = yield* ledger
      .grant({
        accountId: account.id,
        kind,
        microUsd,
        expiresAt: until,
        description: Option.getOrElse(description, () => described[kind])
      })
      .pipe(Effect.tapError(() => noteOperator({ ...note, targetId: null, status: 400, errorCode: "INVALID_REQUEST" })))
    yield* noteOperator({ ...note, targetId: made.id, status: 201, errorCode: null })
    // After this, no process uses an older read of the account.
    yield* awaitLeases
    const balance = yield* ledger.balance(account.id)
    yield* answer(
      [
        `${made.id}: ${formatUsd(made.grantedMicroUsd)} USD (${made.kind}), ${until === null ? "which never expires" : `until ${shownTime(until)}`}.`,
        account.billing === "unlimited"
          ? `${account.name} is unlimited: no request is refused for lack of credit.`
          : `${account.name} has ${formatUsd(balance.balanceMicroUsd)} USD.`
      ].join(" "),
      { grant: grantDocument(made), balance: balanceDocument(balance) }
    )
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
