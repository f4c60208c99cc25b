/** `atoll accounts recover` */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { noteOperator } from "../account/OperatorAudit.ts"
import { consoleLink } from "../console/server/consoleLink.ts"
import { SignInLinks } from "../console/server/SignInLinks.ts"
import { knownAccount } from "./account.ts"
import { answer, remark } from "./answer.ts"
import { consoleUrl } from "./consoleUrl.ts"
import { shownTime, time } from "./table.ts"

export const recover = Command.make(
  "recover",
  { account: Argument.String("account").pipe(Argument.withDescription("Its name or id")) },
  Effect.fnUntraced(function* ({ account: nameOrId }) {
    const account = yield* knownAccount(nameOrId)
    const url = yield* consoleUrl
    const { code, expiresAt } = yield* (yield* SignInLinks).create(account.id)
    yield* noteOperator({
      accountId: account.id,
      action: "recoverAccount",
      targetType: "account",
      targetId: account.id,
      status: 201,
      errorCode: null
    })
    yield* remark(
      `the first person to open this link is signed in to ${JSON.stringify(account.name)} and may set its passphrase; it works once, until ${shownTime(expiresAt)}, and is not shown again`
    )
    if (account.suspendedAt !== null) yield* remark("the account is suspended: no sign-in works until it is resumed")
    const link = consoleLink(url, "link", code)
    yield* answer(link, { account: { id: account.id, name: account.name }, link, expiresAt: time(expiresAt) })
  })
).pipe(Command.withDescription("Print a link that signs in to an account once, to set a new passphrase"))
