/** `atoll invitations create|list|revoke` */
import { Clock, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Email } from "../../schemas/console/Session.ts"
import { consoleLink } from "../console/server/consoleLink.ts"
import { type Invitation, Invitations, statusOf } from "../console/server/Invitations.ts"
import { formatUsd, grantMaxMicroUsd } from "../wallet/Money.ts"
import { answer, Refused, remark, WrongUsage } from "./answer.ts"
import { consoleUrl } from "./consoleUrl.ts"
import { shownTime, table, time } from "./table.ts"
import { usd, whole } from "./values.ts"

const dayMs = 24 * 60 * 60 * 1000
const daysMax = 365n

/** The output of `--json`. */
const invitationDocument = (invitation: Invitation, now: number) => ({
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

const create = Command.make(
  "create",
  {
    email: Flag.String("email").pipe(
      Flag.withDescription("Only this address may register with it. Absent: any"),
      Flag.withSchema(Schema.toType(Email)),
      Flag.optional
    ),
    expiresDays: Flag.String("expires-days").pipe(Flag.withDescription("Validity in days"), Flag.withDefault("7")),
    creditUsd: Flag.String("credit-usd").pipe(
      Flag.withDescription("Promotional credit in dollars, valid for the account's first 14 days; 0: none"),
      Flag.withDefault("10")
    )
  },
  Effect.fnUntraced(function* ({ email, expiresDays, creditUsd }) {
    const days = yield* whole("--expires-days", expiresDays, daysMax)
    if (days === 0n) return yield* new WrongUsage({ message: "--expires-days takes 1 day or more." })
    const creditMicroUsd = yield* usd("--credit-usd", creditUsd)
    if (creditMicroUsd > grantMaxMicroUsd) {
      return yield* new WrongUsage({ message: `--credit-usd takes ${formatUsd(grantMaxMicroUsd)} at most.` })
    }
    const url = yield* consoleUrl
    const now = yield* Clock.currentTimeMillis
    const { invitation, code } = yield* (yield* Invitations).create({
      email: Option.getOrNull(email),
      creditMicroUsd,
      expiresAt: now + Number(days) * dayMs
    })
    const link = consoleLink(url, "invitation", code)
    yield* remark(
      `made the invitation ${invitation.id}; its link makes one account, until ${shownTime(invitation.expiresAt)}, and is not shown again`
    )
    yield* answer(link, { invitation: invitationDocument(invitation, now), link })
  })
).pipe(Command.withDescription("Create an invitation and print its link, with which one person registers one account"))

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const now = yield* Clock.currentTimeMillis
    const found = yield* (yield* Invitations).list
    yield* answer(
      table(
        ["ID", "STATUS", "E-MAIL", "CREDIT USD", "CREATED", "EXPIRES", "ACCOUNT"],
        found.map((invitation) => [
          invitation.id,
          statusOf(invitation, now),
          invitation.email ?? "any",
          formatUsd(invitation.creditMicroUsd),
          shownTime(invitation.createdAt),
          shownTime(invitation.expiresAt),
          invitation.accountId ?? "-"
        ])
      ),
      { invitations: found.map((invitation) => invitationDocument(invitation, now)) }
    )
  })
).pipe(Command.withDescription("List invitations, including used and expired ones"))

const revoke = Command.make(
  "revoke",
  { id: Argument.String("id").pipe(Argument.withDescription("The invitation's id: inv_…")) },
  Effect.fnUntraced(function* ({ id }) {
    const invitation = yield* (yield* Invitations).revoke(id)
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
    yield* answer(`${id} is revoked.`, { invitation: invitationDocument(invitation, now) })
  })
).pipe(Command.withDescription("Revoke an unused invitation"))

export const invitations = Command.make("invitations").pipe(
  Command.withDescription("Invite people to register: make links, list them, revoke them"),
  Command.withSubcommands([create, list, revoke])
)
