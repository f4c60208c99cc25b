/** `atoll invitations create|list|revoke` */
import { Clock, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Email } from "../../schemas/console/Session.ts"
import { Invitations, statusOf } from "../console/server/Invitations.ts"
import {
  invitationDaysMax,
  invitationDocument,
  invite,
  revokeInvitation
} from "../console/server/operating/invitationActs.ts"
import { shownTime } from "../console/server/operating/times.ts"
import { usd, whole } from "../console/server/operating/values.ts"
import { formatUsd } from "../wallet/Money.ts"
import { answer, remark } from "./answer.ts"
import { table } from "./table.ts"

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
    const days = yield* whole("--expires-days", expiresDays, invitationDaysMax)
    const creditMicroUsd = yield* usd("--credit-usd", creditUsd)
    const { said, link, document } = yield* invite({ email: Option.getOrNull(email), days, creditMicroUsd })
    yield* remark(said)
    yield* answer(link!, document)
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
    const { said, document } = yield* revokeInvitation(id)
    yield* answer(said, document)
  })
).pipe(Command.withDescription("Revoke an unused invitation"))

export const invitations = Command.make("invitations").pipe(
  Command.withDescription("Invite people to register: make links, list them, revoke them"),
  Command.withSubcommands([create, list, revoke])
)
