/**
 * Turns an invitation into an account: prepaid, with promotional credit, a passphrase and a session, in one transaction.
 *
 * @source contract.md "What the service does": New customers register by invitation; contract-details.md "The console and registration"
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { InvalidRequest, NotFound, type RateLimited } from "../../../schemas/Errors.ts"
import { Accounts } from "../../account/Accounts.ts"
import { changeBegins } from "../../store/Change.ts"
import { Ledger } from "../../wallet/Ledger.ts"
import { Attempts, addressRate, addressSubject } from "./Attempts.ts"
import { foldedEmail } from "./Email.ts"
import { type Invitation, Invitations } from "./Invitations.ts"
import { Passphrases } from "./Passphrases.ts"
import { type Session, Sessions, type Visitor } from "./Sessions.ts"

/** @source contract.md "Limits": promotional credit */
export const promotionMs = 14 * 24 * 60 * 60 * 1000

export interface Opened {
  readonly session: Session
  readonly token: string
}

interface Wanted {
  readonly code: string
  readonly email: string
  readonly accountName: string
  readonly passphrase: string
}

const noInvitation = () =>
  new NotFound({
    message: "This invitation is invalid, expired, revoked or already used. Ask its sender for another one."
  })

const wrong = (field: string, message: string) =>
  new InvalidRequest({ details: { issues: [{ path: [field], message }] } })

export class Registration extends Context.Service<
  Registration,
  {
    /** The open invitation with this code. */
    readonly invitation: (code: string, visitor: Visitor) => Effect.Effect<Invitation, NotFound | RateLimited>
    readonly register: (
      wanted: Wanted,
      visitor: Visitor
    ) => Effect.Effect<Opened, NotFound | InvalidRequest | RateLimited>
  }
>()("atoll/console/server/Registration") {
  static readonly layer = Layer.effect(
    Registration,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const accounts = yield* Accounts
      const attempts = yield* Attempts
      const invitations = yield* Invitations
      const ledger = yield* Ledger
      const passphrases = yield* Passphrases
      const sessions = yield* Sessions

      const found = Effect.fnUntraced(function* (code: string) {
        return (yield* invitations.find(code)) ?? (yield* noInvitation())
      })

      const invitation = Effect.fn("Registration.invitation")(function* (code: string, visitor: Visitor) {
        yield* attempts.take(addressSubject(visitor.address), addressRate)
        return yield* found(code)
      })

      const make = Effect.fnUntraced(function* (wanted: Wanted, hash: string, visitor: Visitor) {
        const { id: invitationId, creditMicroUsd } = yield* found(wanted.code)
        const now = yield* Clock.currentTimeMillis
        const account = yield* accounts
          .create({ name: wanted.accountName, email: wanted.email, billing: "prepaid" })
          .pipe(Effect.mapError(() => wrong("accountName", "An account with this name already exists")))
        const made = yield* sql`
          insert into passphrases (account_id, email, email_folded, hash, changed_at)
          values (${account.id}, ${wanted.email}, ${foldedEmail(wanted.email)}, ${hash}, ${BigInt(now)})
          on conflict (email_folded) do nothing returning account_id`
        if (made.length === 0) return yield* wrong("email", "An account with this e-mail already exists: sign in")
        if (creditMicroUsd > 0n) {
          yield* ledger
            .grant({
              accountId: account.id,
              kind: "promotional",
              microUsd: creditMicroUsd,
              expiresAt: now + promotionMs,
              description: "Promotional credit"
            })
            .pipe(Effect.catchTag("CreditRefused", Effect.die))
        }
        yield* invitations.use(invitationId, account.id)
        return yield* sessions.open(account.id, "registration", visitor)
      })

      const register = Effect.fn("Registration.register")(function* (wanted: Wanted, visitor: Visitor) {
        // A request without an invitation costs no more than this.
        const { email } = yield* invitation(wanted.code, visitor)
        if (email !== null && foldedEmail(email) !== foldedEmail(wanted.email)) {
          return yield* wrong("email", "The invitation is for another e-mail")
        }
        const hash = yield* passphrases.hash(wanted.passphrase)
        yield* changeBegins
        return yield* make(wanted, hash, visitor).pipe(sql.withTransaction, Effect.catchTag("SqlError", Effect.die))
      })

      return { invitation, register }
    })
  )
}
