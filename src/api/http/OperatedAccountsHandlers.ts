/** The operator's page: accounts, a page at a time, and the operator's acts on them. */
import { Context, Effect } from "effect"
import type { NewCredit, OperatedAccounts } from "../../../schemas/console/Operating.ts"
import { OperatorApi } from "../../../schemas/console/OperatorApi.ts"
import { NotFound } from "../../../schemas/Errors.ts"
import { Accounts } from "../../account/Accounts.ts"
import {
  createAccount,
  recoverAccount,
  resumeAccount,
  setAccountLimits,
  suspendAccount
} from "../../console/server/operating/accountActs.ts"
import { balanceDocument } from "../../console/server/operating/balanceDocument.ts"
import { grantCredit } from "../../console/server/operating/moneyActs.ts"
import { accountsOverview, accountsSum, operatorActs } from "../../console/server/operating/overview.ts"
import { future, int4Max, limit, storageMax, usd } from "../../console/server/operating/values.ts"
import { type ListBinding, openCursor, pageOf } from "../../lists/Paging.ts"
import { removedStates } from "../../sandbox/sandboxStates.ts"
import { Ledger } from "../../wallet/Ledger.ts"
import { leanGroup } from "./LeanContext.ts"
import { acting, operatorServices, unkept } from "./OperatorActs.ts"

const accountIds = /^acc_[0-9a-z]{1,60}$/

const orNull = <E>(text: string | null, read: (text: string) => Effect.Effect<bigint, E>) =>
  text === null || text === "" ? Effect.succeed(null) : read(text)

const limitsSet = Effect.fnUntraced(function* (
  accountId: string,
  written: Readonly<Record<"sandboxes" | "workspaces" | "workspaceStorageBytes", string>>
) {
  const document = yield* setAccountLimits(accountId, {
    sandboxes: yield* limit("--sandboxes", written.sandboxes, int4Max),
    workspaces: yield* limit("--workspaces", written.workspaces, int4Max),
    workspaceStorageBytes: yield* limit("--workspace-storage-bytes", written.workspaceStorageBytes, storageMax)
  })
  return { said: `The limits of ${document.name} are set.`, link: null, secret: null, document }
})

const creditGranted = Effect.fnUntraced(function* (account: string, written: NewCredit) {
  const { kind, description } = written
  const microUsd = yield* usd("--usd", written.usd)
  const expiresAt = written.expiresAt === null ? null : yield* future("--expires-at", written.expiresAt)
  return yield* grantCredit({ account, microUsd, kind, expiresAt, description })
})

const group = leanGroup(
  OperatorApi,
  "operatedAccounts",
  Effect.fnUntraced(function* (handlers) {
    const services = yield* operatorServices
    const found = Effect.fnUntraced(function* (accountId: string) {
      const account = yield* Context.get(services, Accounts).get(accountId)
      return account ?? (yield* new NotFound({ message: "There is no such account." }))
    })
    return handlers
      .handle(
        "listAccounts",
        Effect.fnUntraced(function* ({ query: { limit, cursor, find = "" } }) {
          const list: ListBinding = ["operator", "accounts", find]
          const after = yield* openCursor(list, cursor ?? null, accountIds)
          const wanted = { limit, after, find }
          const overview = yield* Effect.provideContext(accountsOverview(wanted, removedStates), services)
          const { entries, nextCursor } = pageOf(list, overview.accounts, limit, ({ id }) => id)
          const body: OperatedAccounts = { ...overview, accounts: entries, nextCursor }
          return unkept(body)
        })
      )
      .handle("sumAccounts", () =>
        Effect.map(Effect.provideContext(accountsSum(removedStates), services), (sum) => unkept(sum))
      )
      .handle(
        "getAccountMoney",
        Effect.fnUntraced(function* ({ params: { accountId } }) {
          const { id } = yield* found(accountId)
          const balance = balanceDocument(yield* Context.get(services, Ledger).balance(id))
          const acts = yield* Effect.provideContext(operatorActs(id), services)
          const { microUsd, status, burnMicroUsdPerHour, exhaustsAt } = balance
          return unkept({ microUsd, status, burnMicroUsdPerHour, exhaustsAt, acts })
        })
      )
      .handle(
        "createAccount",
        ({ request, payload: { name, email, billing, creditUsd } }) =>
          acting(
            request,
            services,
            Effect.flatMap(
              orNull(creditUsd, (text) => usd("--credit-usd", text)),
              (creditMicroUsd) => createAccount({ name, email, billing, creditMicroUsd })
            )
          ),
        { uninterruptible: true }
      )
      .handle(
        "suspendAccount",
        ({ request, params: { accountId } }) => acting(request, services, suspendAccount(accountId)),
        { uninterruptible: true }
      )
      .handle(
        "resumeAccount",
        ({ request, params: { accountId } }) => acting(request, services, resumeAccount(accountId)),
        { uninterruptible: true }
      )
      .handle(
        "recoverAccount",
        ({ request, params: { accountId } }) => acting(request, services, recoverAccount(accountId)),
        { uninterruptible: true }
      )
      .handle(
        "setAccountLimits",
        ({ request, params: { accountId }, payload }) => acting(request, services, limitsSet(accountId, payload)),
        { uninterruptible: true }
      )
      .handle(
        "grantCredit",
        ({ request, params: { accountId }, payload }) => acting(request, services, creditGranted(accountId, payload)),
        { uninterruptible: true }
      )
  })
)

export const OperatedAccountsHandlers = { layer: group }
