/** The operator's page: accounts, invitations, credit and rates, by the code and in the words of the command line. */
import type { IncomingMessage } from "node:http"
import { Clock, Context, Effect, Layer } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { SqlClient } from "effect/sql"
import { Operator } from "../../../schemas/Access.ts"
import type { Acted } from "../../../schemas/console/Operating.ts"
import { OperatorApi } from "../../../schemas/console/OperatorApi.ts"
import { InvalidRequest, NotFound } from "../../../schemas/Errors.ts"
import { clientAddress } from "../../access/gateway/Clients.ts"
import { Accounts } from "../../account/Accounts.ts"
import { heldUserAgent } from "../../account/Audit.ts"
import { OperatorWay } from "../../account/OperatorAudit.ts"
import type { Settings } from "../../Config.ts"
import { Invitations } from "../../console/server/Invitations.ts"
import {
  createAccount,
  recoverAccount,
  resumeAccount,
  setAccountLimits,
  suspendAccount
} from "../../console/server/operating/accountActs.ts"
import { balanceDocument } from "../../console/server/operating/balanceDocument.ts"
import type { Done } from "../../console/server/operating/Done.ts"
import {
  invitationDaysMax,
  invitationDocument,
  invite,
  revokeInvitation
} from "../../console/server/operating/invitationActs.ts"
import { grantCredit } from "../../console/server/operating/moneyActs.ts"
import { accountsOverview, operatorActs } from "../../console/server/operating/overview.ts"
import { cardDocument, hourlyCost } from "../../console/server/operating/rates.ts"
import { shownTime } from "../../console/server/operating/times.ts"
import { future, int4Max, limit, storageMax, usd, whole } from "../../console/server/operating/values.ts"
import type { SignInLinks } from "../../console/server/SignInLinks.ts"
import { removedStates } from "../../sandbox/sandboxStates.ts"
import { changeBegins } from "../../store/Change.ts"
import { Ledger } from "../../wallet/Ledger.ts"
import { rateMaxNanoUsd } from "../../wallet/RateCard.ts"
import { jsonAnswer } from "./JsonAnswer.ts"
import { leanGroup } from "./LeanContext.ts"

type Services = Accounts | Ledger | Invitations | SignInLinks | Settings | SqlClient.SqlClient

const unkept = (body: object) => HttpServerResponse.setHeader(jsonAnswer(body), "cache-control", "no-store")

const isRemoved = (status: string): boolean => (removedStates as ReadonlyArray<string>).includes(status)

/** A refused act: its message is the command line's. */
const refused = ({ message }: { readonly message: string }) => new InvalidRequest({ message, details: { issues: [] } })

const said = ({ said, link }: Done) => {
  const body: Acted = { said, link }
  return unkept(body)
}

/**
 * Does an act as the operator of this page: the account's audit log names the call, its address and its request, and the service's log the
 * session.
 */
const acting = <A extends Done, E extends { readonly message: string }>(
  request: HttpServerRequest.HttpServerRequest,
  services: Context.Context<Services>,
  act: Effect.Effect<A, E, Services>
) =>
  Effect.gen(function* () {
    const source = request.source as IncomingMessage
    const { sessionId, requestId } = yield* Operator
    const path = request.url.split("?", 1)[0]!
    const sourceIp = clientAddress(source)
    yield* changeBegins
    const done = yield* act.pipe(
      Effect.mapError(refused),
      Effect.provideContext(services),
      Effect.provideService(OperatorWay, {
        method: request.method,
        path,
        requestId,
        sourceIp,
        userAgent: heldUserAgent(request.headers["user-agent"] ?? null)
      })
    )
    yield* Effect.annotateLogs(Effect.logInfo("The operator acted in the console"), { sessionId, path, sourceIp })
    return said(done)
  })

const withServices = Effect.context<Services>()

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
  return { said: `The limits of ${document.name} are set.`, link: null, document }
})

const accounts = leanGroup(
  OperatorApi,
  "operatedAccounts",
  Effect.fnUntraced(function* (handlers) {
    const services = yield* withServices
    const found = Effect.fnUntraced(function* (accountId: string) {
      const account = yield* Context.get(services, Accounts).get(accountId)
      return account ?? (yield* new NotFound({ message: "There is no such account." }))
    })
    return handlers
      .handle("listAccounts", () =>
        Effect.map(Effect.provideContext(accountsOverview(isRemoved), services), (accounts) => unkept({ accounts }))
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
        ({ request, params: { accountId: account }, payload }) =>
          acting(
            request,
            services,
            Effect.gen(function* () {
              const { kind, description } = payload
              const microUsd = yield* usd("--usd", payload.usd)
              const expiresAt = payload.expiresAt === null ? null : yield* future("--expires-at", payload.expiresAt)
              return yield* grantCredit({ account, microUsd, kind, expiresAt, description })
            })
          ),
        { uninterruptible: true }
      )
  })
)

const installation = leanGroup(
  OperatorApi,
  "operatedInstallation",
  Effect.fnUntraced(function* (handlers) {
    const services = yield* withServices
    const ledger = Context.get(services, Ledger)
    return handlers
      .handle(
        "listInvitations",
        Effect.fnUntraced(function* () {
          const now = yield* Clock.currentTimeMillis
          const listed = yield* Context.get(services, Invitations).list
          return unkept({ invitations: listed.map((invitation) => invitationDocument(invitation, now)) })
        })
      )
      .handle(
        "invite",
        ({ request, payload: { email, expiresDays, creditUsd } }) =>
          acting(
            request,
            services,
            Effect.gen(function* () {
              const days = yield* whole("--expires-days", expiresDays, invitationDaysMax)
              return yield* invite({ email, days, creditMicroUsd: yield* usd("--credit-usd", creditUsd) })
            })
          ),
        { uninterruptible: true }
      )
      .handle(
        "revokeInvitation",
        ({ request, params: { invitationId } }) => acting(request, services, revokeInvitation(invitationId)),
        { uninterruptible: true }
      )
      .handle(
        "listRates",
        Effect.fnUntraced(function* () {
          const { running, stopped } = yield* Effect.provideContext(hourlyCost, services)
          const cards = yield* ledger.rates
          return unkept({
            rates: cards.map((card) => ({
              ...cardDocument(card),
              runningUsdPerHour: running(card),
              stoppedUsdPerHour: stopped(card)
            }))
          })
        })
      )
      .handle(
        "setRates",
        ({ request, payload: { vcpuSecond, memoryGibSecond, volumeGibSecond, effectiveAt } }) =>
          acting(
            request,
            services,
            Effect.gen(function* () {
              const rates = {
                vcpuSecondNanoUsd: yield* whole("--vcpu-second", vcpuSecond, rateMaxNanoUsd),
                memoryGibSecondNanoUsd: yield* whole("--memory-gib-second", memoryGibSecond, rateMaxNanoUsd),
                volumeGibSecondNanoUsd: yield* whole("--volume-gib-second", volumeGibSecond, rateMaxNanoUsd)
              }
              const from = effectiveAt === null ? {} : { effectiveAt: yield* future("--effective-at", effectiveAt) }
              const card = yield* ledger.setRates({ ...rates, ...from })
              return { said: `The rates hold from ${shownTime(card.effectiveAt)} on.`, link: null, document: {} }
            })
          ),
        { uninterruptible: true }
      )
  })
)

export const OperatedHandlers = { layer: Layer.mergeAll(accounts, installation) }
