/** What the operator does with accounts: for the command line and for the operator's page, in the same words. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { OperatorAction } from "../../../../schemas/Audit.ts"
import type { OwnLimits } from "../../../account/AccountLimits.ts"
import { type Account, Accounts, type Billing } from "../../../account/Accounts.ts"
import { noteOperator } from "../../../account/OperatorAudit.ts"
import { Settings } from "../../../Config.ts"
import { Ledger } from "../../../wallet/Ledger.ts"
import { consoleLink, publicUrl } from "../consoleLink.ts"
import { SignInLinks } from "../SignInLinks.ts"
import { accountDocument } from "./accountDocument.ts"
import type { Done } from "./Done.ts"
import { Refused, WrongUsage } from "./refusals.ts"
import { shownTime, time } from "./times.ts"

export const knownAccount = Effect.fnUntraced(function* (nameOrId: string) {
  const account = yield* (yield* Accounts).find(nameOrId)
  return (
    account ??
    (yield* new Refused({
      message: `There is no account named ${JSON.stringify(nameOrId)}. atoll accounts list shows them.`
    }))
  )
})

/** The base address of links into the console. */
export const consoleUrl = Effect.gen(function* () {
  const url = publicUrl(yield* Settings)
  return (
    url ??
    (yield* new Refused({
      message:
        "The port of Atoll is not known yet (ATOLL_PORT is 0): set ATOLL_PUBLIC_URL to the address that browsers use."
    }))
  )
})

const noted = (account: Account, action: OperatorAction, status = 200) =>
  noteOperator({
    accountId: account.id,
    action,
    targetType: "account",
    targetId: account.id,
    status,
    errorCode: null
  })

interface NewAccount {
  readonly name: string
  readonly email: string | null
  readonly billing: Billing
  /** Initial credit of a prepaid account; null: none. */
  readonly creditMicroUsd: bigint | null
}

export const createAccount = Effect.fn("operating.createAccount")(function* (asked: NewAccount) {
  const { name, email, billing, creditMicroUsd: microUsd } = asked
  if (microUsd !== null && billing !== "prepaid") {
    return yield* new WrongUsage({ message: "--credit-usd is for prepaid accounts: add --billing prepaid." })
  }
  const accounts = yield* Accounts
  const ledger = yield* Ledger
  const sql = yield* SqlClient.SqlClient
  const { account, grant } = yield* sql
    .withTransaction(
      Effect.gen(function* () {
        const account = yield* accounts.create({ name, email, billing })
        if (microUsd === null) return { account, grant: null }
        const credit = { accountId: account.id, microUsd, expiresAt: null, description: "Initial credit" }
        return { account, grant: yield* ledger.grant({ ...credit, kind: "promotional" }) }
      })
    )
    .pipe(Effect.catchTag("SqlError", Effect.die))
  yield* noted(account, "createAccount", 201)
  if (grant !== null) {
    yield* noteOperator({
      accountId: account.id,
      action: "grantCredit",
      targetType: "grant",
      targetId: grant.id,
      status: 201,
      errorCode: null
    })
  }
  const done: Done = {
    said: account.id,
    link: null,
    secret: null,
    document: { account: yield* accountDocument(account) }
  }
  return done
})

export const suspendAccount = Effect.fn("operating.suspendAccount")(function* (nameOrId: string) {
  const { id } = yield* knownAccount(nameOrId)
  const account = (yield* (yield* Accounts).suspend(id))!
  yield* noted(account, "suspendAccount")
  const done: Done = {
    said: `${account.name} is suspended: each of its keys is refused from now on. The service stops its Sandboxes and keeps their volumes.`,
    link: null,
    secret: null,
    document: { account: yield* accountDocument(account) }
  }
  return done
})

export const resumeAccount = Effect.fn("operating.resumeAccount")(function* (nameOrId: string) {
  const { id } = yield* knownAccount(nameOrId)
  const account = (yield* (yield* Accounts).resume(id))!
  yield* noted(account, "resumeAccount")
  const done: Done = {
    said: `${account.name} is no longer suspended: its keys work again. Its Sandboxes stay stopped until a client starts them.`,
    link: null,
    secret: null,
    document: { account: yield* accountDocument(account) }
  }
  return done
})

/** Answers with the account as it is afterwards. */
export const setAccountLimits = Effect.fn("operating.setAccountLimits")(function* (
  nameOrId: string,
  wanted: Partial<OwnLimits>
) {
  const before = yield* knownAccount(nameOrId)
  const isChange = Object.keys(wanted).length > 0
  const account = isChange ? (yield* (yield* Accounts).setLimits(before.id, wanted))! : before
  if (isChange) yield* noted(account, "setAccountLimits")
  return yield* accountDocument(account)
})

export const recoverAccount = Effect.fn("operating.recoverAccount")(function* (nameOrId: string) {
  const account = yield* knownAccount(nameOrId)
  const url = yield* consoleUrl
  const { code, expiresAt } = yield* (yield* SignInLinks).create(account.id)
  yield* noted(account, "recoverAccount", 201)
  const link = consoleLink(url, "link", code)
  const done: Done = {
    said: [
      `the first person to open this link is signed in to ${JSON.stringify(account.name)} and may set its passphrase; it works once, until ${shownTime(expiresAt)}, and is not shown again`,
      ...(account.suspendedAt === null ? [] : ["the account is suspended: no sign-in works until it is resumed"])
    ].join("\n"),
    link,
    secret: null,
    document: { account: { id: account.id, name: account.name }, link, expiresAt: time(expiresAt) }
  }
  return done
})
