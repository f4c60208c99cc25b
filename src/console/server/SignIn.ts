/**
 * Signs people in, by passphrase or by a link that works once, and changes passphrases.
 *
 * An unknown e-mail gets the same answer as a wrong passphrase, after the same work. Each sign-in opens a new session, regardless of the request's
 * cookie. A session that the old passphrase opens does not survive the change: both lock the same row.
 *
 * @source contract-details.md "The console and registration"
 */
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { AccountSuspended, InvalidRequest, type RateLimited, Unauthenticated } from "../../../schemas/Errors.ts"
import { awaitLeases } from "../../account/KeyLease.ts"
import { changeBegins } from "../../store/Change.ts"
import { Attempts, addressRate, addressSubject, passphraseRate, strangersRate } from "./Attempts.ts"
import { foldedEmail } from "./Email.ts"
import { Passphrases } from "./Passphrases.ts"
import type { Opened } from "./Registration.ts"
import { Sessions, type Visitor } from "./Sessions.ts"
import { SignInLinks } from "./SignInLinks.ts"
import { sha256Of } from "./Token.ts"

/** How many of an account's sessions are searched for known addresses. */
const sessionsRemembered = 200

/** How long a session opened by a link may set a passphrase without the old one. */
const linkSetsWithinMs = 60 * 60 * 1000

const Known = Schema.Struct({ account_id: Schema.String, email: Schema.String, hash: Schema.String })
type Known = typeof Known.Type

export interface NewPassphrase {
  readonly accountId: string
  readonly sessionId: string
  readonly old: string | null
  readonly passphrase: string
  /** The new e-mail for sign-in; null: unchanged. */
  readonly email: string | null
}

const wrongPassphrase = () => new Unauthenticated({ message: "The e-mail or the passphrase is wrong." })
const wrong = (field: string, message: string) =>
  new InvalidRequest({ details: { issues: [{ path: [field], message }] } })

/** Hashed, because people type passphrases there by mistake. */
const emailSubject = (email: string): string => `email ${sha256Of(foldedEmail(email))}`

/** Called with the account as soon as it is known, even if the sign-in is then refused. */
type Witness = (accountId: string) => void

export class SignIn extends Context.Service<
  SignIn,
  {
    readonly byPassphrase: (
      given: { readonly email: string; readonly passphrase: string },
      visitor: Visitor,
      recognised: Witness
    ) => Effect.Effect<Opened, Unauthenticated | AccountSuspended | RateLimited>
    readonly byLink: (
      code: string,
      visitor: Visitor,
      recognised: Witness
    ) => Effect.Effect<Opened, Unauthenticated | AccountSuspended | RateLimited>
    /** When it returns, all other sessions of the account have ended, except the one that it opens. */
    readonly changePassphrase: (
      wanted: NewPassphrase,
      visitor: Visitor
    ) => Effect.Effect<Opened, InvalidRequest | RateLimited>
    /** The account's e-mail for sign-in; null: it has no passphrase. */
    readonly emailOf: (accountId: string) => Effect.Effect<string | null>
  }
>()("atoll/console/server/SignIn") {
  static readonly layer = Layer.effect(
    SignIn,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const attempts = yield* Attempts
      const links = yield* SignInLinks
      const passphrases = yield* Passphrases
      const sessions = yield* Sessions

      const findSuspension = SqlSchema.findOne({
        Request: Schema.String,
        Result: Schema.Struct({ is_suspended: Schema.Boolean }),
        execute: (accountId) => sql`
          select suspended_at is not null as is_suspended from accounts where id = ${accountId}`
      })

      const findByEmail = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Known,
        execute: (folded) => sql`select account_id, email, hash from passphrases where email_folded = ${folded}`
      })

      const findByAccount = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Known,
        execute: (accountId) => sql`select account_id, email, hash from passphrases where account_id = ${accountId}`
      })

      const findAddresses = SqlSchema.findAll({
        Request: Schema.String,
        Result: Schema.Struct({ source_ip: Schema.String }),
        execute: (accountId) => sql`
          select source_ip from sessions where account_id = ${accountId} order by created_at desc limit ${sessionsRemembered}`
      })

      /** Within the retention of sessions, including ended ones. */
      const hasSignedInFrom = (accountId: string, subject: string) =>
        Effect.map(Effect.orDie(findAddresses(accountId)), (found) =>
          found.some(({ source_ip }) => addressSubject(source_ip) === subject)
        )

      const refuseSuspended = Effect.fnUntraced(function* (accountId: string) {
        const { is_suspended } = yield* Effect.orDie(findSuspension(accountId))
        if (is_suspended) return yield* new AccountSuspended()
      })

      const byPassphrase = Effect.fn("SignIn.byPassphrase")(
        function* (
          { email, passphrase }: { readonly email: string; readonly passphrase: string },
          visitor: Visitor,
          recognised: Witness
        ) {
          const address = addressSubject(visitor.address)
          const subject = `${emailSubject(email)} from ${address}`
          yield* attempts.take(address, addressRate)
          yield* attempts.take(subject, passphraseRate)
          const known = Option.getOrUndefined(yield* Effect.orDie(findByEmail(foldedEmail(email))))
          // Wrong attempts from elsewhere must not lock the owner out: known addresses have their own limit.
          const isStranger = !(yield* hasSignedInFrom(known?.account_id ?? "", address))
          if (isStranger) yield* attempts.take(emailSubject(email), strangersRate)
          if (known !== undefined) recognised(known.account_id)
          const isRight = yield* passphrases.matches(passphrase, known?.hash ?? null, isStranger)
          if (known === undefined || !isRight) return yield* wrongPassphrase()
          yield* attempts.forgive(subject)
          yield* refuseSuspended(known.account_id)
          yield* changeBegins
          return yield* Effect.gen(function* () {
            const held = yield* sql`
            select 1 from passphrases where account_id = ${known.account_id} and hash = ${known.hash} for share`
            if (held.length === 0) return yield* wrongPassphrase()
            return yield* sessions.open(known.account_id, "passphrase", visitor)
          }).pipe(sql.withTransaction)
        },
        Effect.catchTag("SqlError", Effect.die)
      )

      const byLink = Effect.fn("SignIn.byLink")(
        function* (code: string, visitor: Visitor, recognised: Witness) {
          yield* attempts.take(addressSubject(visitor.address), addressRate)
          yield* changeBegins
          return yield* Effect.gen(function* () {
            const accountId = yield* links.take(code)
            if (accountId === null) {
              return yield* new Unauthenticated({
                message:
                  "This link is invalid, expired or already used. Ask the operator of this service for another one."
              })
            }
            recognised(accountId)
            yield* refuseSuspended(accountId)
            return yield* sessions.open(accountId, "link", visitor)
          }).pipe(sql.withTransaction)
        },
        Effect.catchTag("SqlError", Effect.die)
      )

      /** Refuses a change by a caller that may not make it. */
      const admitChange = Effect.fnUntraced(function* (wanted: NewPassphrase, known: Known) {
        if (wanted.email !== null && foldedEmail(wanted.email) !== foldedEmail(known.email)) {
          return yield* wrong("email", "The e-mail of an account with a passphrase cannot be changed")
        }
        if (wanted.old !== null) {
          const isRight = yield* passphrases.matches(wanted.old, known.hash, false)
          return isRight ? undefined : yield* wrong("old", "This is not the present passphrase")
        }
        const session = yield* sessions.get(wanted.sessionId)
        const now = yield* Clock.currentTimeMillis
        const isFreshLink = session?.openedBy === "link" && now < session.createdAt + linkSetsWithinMs
        return isFreshLink ? undefined : yield* wrong("old", "Required")
      })

      const store = Effect.fnUntraced(function* (
        { accountId }: NewPassphrase,
        known: Known | undefined,
        email: string,
        hash: string,
        visitor: Visitor
      ) {
        const now = BigInt(yield* Clock.currentTimeMillis)
        if (known === undefined) {
          const made = yield* sql`
            insert into passphrases (account_id, email, email_folded, hash, changed_at)
            values (${accountId}, ${email}, ${foldedEmail(email)}, ${hash}, ${now})
            on conflict do nothing returning account_id`
          if (made.length === 0) return yield* wrong("email", "An account with this e-mail already exists")
          yield* sql`update accounts set email = coalesce(email, ${email}) where id = ${accountId}`
        } else {
          const changed = yield* sql`
            update passphrases set hash = ${hash}, changed_at = ${now}
            where account_id = ${accountId} and hash = ${known.hash} returning account_id`
          if (changed.length === 0) return yield* wrong("old", "It was just changed")
        }
        yield* sessions.endAll(accountId, null)
        return yield* sessions.open(accountId, "passphrase", visitor)
      })

      const changePassphrase = Effect.fn("SignIn.changePassphrase")(
        function* (wanted: NewPassphrase, visitor: Visitor) {
          yield* attempts.take(`passphrase ${wanted.accountId}`, passphraseRate)
          const known = Option.getOrUndefined(yield* Effect.orDie(findByAccount(wanted.accountId)))
          if (known !== undefined) yield* admitChange(wanted, known)
          const email = known?.email ?? wanted.email
          if (email === null) return yield* wrong("email", "Required: this account has no e-mail for sign-in yet")
          const hash = yield* passphrases.hash(wanted.passphrase)
          yield* changeBegins
          const opened = yield* store(wanted, known, email, hash, visitor).pipe(sql.withTransaction)
          yield* awaitLeases
          return opened
        },
        Effect.catchTag("SqlError", Effect.die)
      )

      const emailOf = Effect.fn("SignIn.emailOf")(function* (accountId: string) {
        return Option.getOrNull(Option.map(yield* findByAccount(accountId), ({ email }) => email))
      }, Effect.orDie)

      return { byPassphrase, byLink, changePassphrase, emailOf }
    })
  )
}
