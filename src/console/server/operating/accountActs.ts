/** What the operator does with accounts: for the command line and for the operator's page, in the same words. */
import { Effect } from "effect"
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
import { together } from "./together.ts"

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
  const account = yield* together(
    Effect.gen(function* () {
      const account = yield* accounts.create({ name, email, billing })
      yield* noted(account, "createAccount", 201)
      if (microUsd === null) return account
      const credit = { accountId: account.id, microUsd, expiresAt: null, description: "Initial credit" }
      const { id } = yield* ledger.grant({ ...credit, kind: "promotional" })
      yield* noteOperator({
        accountId: account.id,
        action: "grantCredit",
        targetType: "grant",
        targetId: id,
        status: 201,
        errorCode: null
      })
      return account
    })
  )
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
  const accounts = yield* Accounts
  const account = (yield* together(Effect.tap(accounts.suspend(id), (it) => noted(it!, "suspendAccount"))))!
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
  const accounts = yield* Accounts
  const account = (yield* together(Effect.tap(accounts.resume(id), (it) => noted(it!, "resumeAccount"))))!
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
  if (!isChange) return yield* accountDocument(before)
  const accounts = yield* Accounts
  const account = yield* together(
    Effect.tap(accounts.setLimits(before.id, wanted), (it) => noted(it!, "setAccountLimits"))
  )
  return yield* accountDocument(account!)
})

export const recoverAccount = Effect.fn("operating.recoverAccount")(function* (nameOrId: string) {
  const account = yield* knownAccount(nameOrId)
  const url = yield* consoleUrl
  const links = yield* SignInLinks
  const { code, expiresAt } = yield* together(
    Effect.tap(links.create(account.id), noted(account, "recoverAccount", 201))
  )
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
