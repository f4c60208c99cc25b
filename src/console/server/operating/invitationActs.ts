/** What the operator does with invitations: for the command line and for the operator's page, in the same words. */
import { Clock, Effect } from "effect"
import { noteInstallation } from "../../../account/OperatorAudit.ts"
import { formatUsd, grantMaxMicroUsd } from "../../../wallet/Money.ts"
import { consoleLink } from "../consoleLink.ts"
import { type Invitation, Invitations, statusOf } from "../Invitations.ts"
import { consoleUrl } from "./accountActs.ts"
import type { Done } from "./Done.ts"
import { Refused, WrongUsage } from "./refusals.ts"
import { shownTime, time } from "./times.ts"
import { together } from "./together.ts"

const dayMs = 24 * 60 * 60 * 1000
export const invitationDaysMax = 365n

/** The output of `--json`. */
export const invitationDocument = (invitation: Invitation, now: number) => ({
  id: invitation.id,
  status: statusOf(invitation, now),
  email: invitation.email,
  creditMicroUsd: Number(invitation.creditMicroUsd),
  createdAt: time(invitation.createdAt),
  expiresAt: time(invitation.expiresAt),
  usedAt: time(invitation.usedAt),
  revokedAt: time(invitation.revokedAt),
  accountId: invitation.accountId
})

interface NewInvitation {
  /** Null: any address may register with it. */
  readonly email: string | null
  readonly days: bigint
  readonly creditMicroUsd: bigint
}

export const invite = Effect.fn("operating.invite")(function* ({ email, days, creditMicroUsd }: NewInvitation) {
  if (days === 0n) return yield* new WrongUsage({ message: "--expires-days takes 1 day or more." })
  if (creditMicroUsd > grantMaxMicroUsd) {
    return yield* new WrongUsage({ message: `--credit-usd takes ${formatUsd(grantMaxMicroUsd)} at most.` })
  }
  const url = yield* consoleUrl
  const now = yield* Clock.currentTimeMillis
  const invitations = yield* Invitations
  const { invitation, code } = yield* together(
    Effect.tap(
      invitations.create({ email, creditMicroUsd, expiresAt: now + Number(days) * dayMs }),
      ({ invitation: { id } }) => noteInstallation("invite", id, 201)
    )
  )
  const link = consoleLink(url, "invitation", code)
  const done: Done = {
    said: `made the invitation ${invitation.id}; its link makes one account, until ${shownTime(invitation.expiresAt)}, and is not shown again`,
    link,
    secret: null,
    document: { invitation: invitationDocument(invitation, now), link }
  }
  return done
})

export const revokeInvitation = Effect.fn("operating.revokeInvitation")(function* (id: string) {
  const invitations = yield* Invitations
  const invitation = yield* together(
    Effect.tap(invitations.revoke(id), (it) =>
      it === null || it.usedAt !== null ? Effect.void : noteInstallation("revokeInvitation", id)
    )
  )
  if (invitation === null) {
    return yield* new Refused({
      message: `There is no invitation ${JSON.stringify(id)}. atoll invitations list shows them.`
    })
  }
  if (invitation.usedAt !== null) {
    return yield* new Refused({
      message: `${id} was used: it made the account ${invitation.accountId}. Suspend that with atoll accounts suspend.`
    })
  }
  const now = yield* Clock.currentTimeMillis
  const done: Done = {
    said: `${id} is revoked.`,
    link: null,
    secret: null,
    document: { invitation: invitationDocument(invitation, now) }
  }
  return done
})
