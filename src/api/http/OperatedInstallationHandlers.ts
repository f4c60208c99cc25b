/** The operator's page: invitations and rates. */
import { Clock, Context, Effect } from "effect"
import { OperatorApi } from "../../../schemas/console/OperatorApi.ts"
import { invitationPage } from "../../console/server/invitationPage.ts"
import {
  invitationDaysMax,
  invitationDocument,
  invite,
  revokeInvitation
} from "../../console/server/operating/invitationActs.ts"
import { setRates } from "../../console/server/operating/moneyActs.ts"
import { cardDocument, hourlyCost } from "../../console/server/operating/rates.ts"
import { shownTime } from "../../console/server/operating/times.ts"
import { usd, whole } from "../../console/server/operating/values.ts"
import { type ListBinding, openCursor, pageOf } from "../../lists/Paging.ts"
import { Ledger } from "../../wallet/Ledger.ts"
import { leanGroup } from "./LeanContext.ts"
import { acting, operatorServices, unkept } from "./OperatorActs.ts"

const invitationIds = /^inv_[0-9a-z]{1,60}$/

const group = leanGroup(
  OperatorApi,
  "operatedInstallation",
  Effect.fnUntraced(function* (handlers) {
    const services = yield* operatorServices
    const ledger = Context.get(services, Ledger)
    return handlers
      .handle(
        "listInvitations",
        Effect.fnUntraced(function* ({ query: { limit, cursor } }) {
          const list: ListBinding = ["operator", "invitations"]
          const before = yield* openCursor(list, cursor ?? null, invitationIds)
          const now = yield* Clock.currentTimeMillis
          const listed = yield* Effect.provideContext(invitationPage({ limit: limit + 1, before }), services)
          const { entries, nextCursor } = pageOf(list, listed, limit, ({ id }) => id)
          return unkept({ invitations: entries.map((invitation) => invitationDocument(invitation, now)), nextCursor })
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
        ({ request, payload }) =>
          acting(
            request,
            services,
            Effect.map(setRates(payload), (card) => ({
              said: `The rates hold from ${shownTime(card.effectiveAt)} on.`,
              link: null,
              secret: null,
              document: {}
            }))
          ),
        { uninterruptible: true }
      )
  })
)

export const OperatedInstallationHandlers = { layer: group }
