/** Registration, signing in and sessions, as the console's page requests them. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AlsoSuspended, CookieAlone, FromConsole, ReadOnly, SignedIn } from "../Access.ts"
import {
  AccountSuspended,
  InvalidRequest,
  NotFound,
  PayloadTooLarge,
  RateLimited,
  Unauthenticated,
  UnsupportedMediaType
} from "../Errors.ts"
import { AccountId, SessionId } from "../Identifiers.ts"
import { nameMaxCharacters } from "../Limits.ts"
import { orNull, withDefault } from "../Optional.ts"
import { isCharactersBetween, isMatching, isPlainText, isShownName, Timestamp } from "../Text.ts"

export const emailMaxCharacters = 254
export const passphraseMinCharacters = 12
export const passphraseMaxCharacters = 256

/** No further check: only a message to the address would prove it. */
export const Email = Schema.String.check(
  isCharactersBetween(3, emailMaxCharacters),
  isPlainText,
  isMatching(/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u, { expected: "an e-mail address" })
)

/** @source NIST SP 800-63B section 5.1.1.2: length counts, and no rule of composition */
const Passphrase = Schema.String.check(
  isCharactersBetween(passphraseMinCharacters, passphraseMaxCharacters),
  isPlainText
)

/** Only compared. */
const GivenPassphrase = Schema.String.check(isCharactersBetween(1, passphraseMaxCharacters), isPlainText)

const AccountName = Schema.String.check(isCharactersBetween(1, nameMaxCharacters), isPlainText, isShownName)

/** From a link's fragment. */
const Code = Schema.String.check(isCharactersBetween(1, 64), isPlainText)

export const ConsoleSession = Schema.Struct({
  id: SessionId,
  account: Schema.Struct({ id: AccountId, name: Schema.String, billing: Schema.Literals(["unlimited", "prepaid"]) }),
  email: Schema.NullOr(Schema.String).annotate({
    description: "What to sign in with; null: the account has no passphrase yet."
  }),
  openedBy: Schema.Literals(["registration", "passphrase", "link"]),
  csrf: Schema.String.annotate({
    description: "For the header X-Atoll-Csrf of every request that the cookie goes with."
  }),
  createdAt: Timestamp,
  expiresAt: Timestamp.annotate({ description: "When it is over, if it is not used again before." })
}).annotate({ identifier: "ConsoleSession" })
export interface ConsoleSession extends Schema.Schema.Type<typeof ConsoleSession> {}

export const ListedSession = Schema.Struct({
  id: SessionId,
  isCurrent: Schema.Boolean,
  openedBy: Schema.Literals(["registration", "passphrase", "link"]),
  createdAt: Timestamp,
  lastUsedAt: Timestamp.annotate({ description: "To the minute." }),
  expiresAt: Timestamp,
  sourceIp: Schema.String,
  userAgent: Schema.NullOr(Schema.String)
}).annotate({ identifier: "ListedSession" })
export interface ListedSession extends Schema.Schema.Type<typeof ListedSession> {}

export const Invitation = Schema.Struct({
  email: Schema.NullOr(Schema.String).annotate({ description: "Null: any." }),
  creditMicroUsd: Schema.Int,
  expiresAt: Timestamp
}).annotate({ identifier: "Invitation" })

const bodyErrors = [InvalidRequest, PayloadTooLarge, UnsupportedMediaType] as const

const described = (identifier: string, summary: string) => OpenApi.annotations({ identifier, summary })

export class EntranceGroup extends HttpApiGroup.make("entrance")
  .add(
    HttpApiEndpoint.post("lookUpInvitation", "/invitation", {
      payload: Schema.Struct({ code: Code }),
      success: Schema.Struct({ invitation: Invitation }),
      error: [...bodyErrors, NotFound, RateLimited]
    })
      .annotate(ReadOnly, true)
      .annotateMerge(described("lookUpInvitation", "What an invitation offers")),
    HttpApiEndpoint.post("register", "/register", {
      payload: Schema.Struct({ code: Code, email: Email, accountName: AccountName, passphrase: Passphrase }),
      success: Schema.Struct({ session: ConsoleSession }).pipe(HttpApiSchema.status(201)),
      error: [...bodyErrors, NotFound, RateLimited]
    }).annotateMerge(described("register", "Make an account with an invitation, and sign in")),
    HttpApiEndpoint.post("signIn", "/sign-in", {
      payload: Schema.Struct({ email: Email, passphrase: GivenPassphrase }),
      success: Schema.Struct({ session: ConsoleSession }),
      error: [...bodyErrors, Unauthenticated, AccountSuspended, RateLimited]
    }).annotateMerge(described("signIn", "Sign in with a passphrase")),
    HttpApiEndpoint.post("signInByLink", "/sign-in-link", {
      payload: Schema.Struct({ code: Code }),
      success: Schema.Struct({ session: ConsoleSession }),
      error: [...bodyErrors, Unauthenticated, AccountSuspended, RateLimited]
    }).annotateMerge(described("signInByLink", "Sign in with a link that works once"))
  )
  .middleware(FromConsole) {}

export class SessionGroup extends HttpApiGroup.make("session")
  .add(
    HttpApiEndpoint.get("getSession", "/session", { success: Schema.Struct({ session: ConsoleSession }) })
      .annotate(CookieAlone, true)
      .annotateMerge(described("getSession", "Who is signed in")),
    HttpApiEndpoint.post("signOut", "/sign-out", {
      payload: Schema.Struct({ everywhere: withDefault(Schema.Boolean, false, "Ends all sessions of the account.") }),
      success: HttpApiSchema.NoContent,
      error: bodyErrors
    })
      .annotate(AlsoSuspended, true)
      .annotateMerge(described("signOut", "End this session, or all of the account")),
    HttpApiEndpoint.post("changePassphrase", "/passphrase", {
      payload: Schema.Struct({
        old: orNull(GivenPassphrase, "The one until now; null where there is none yet."),
        new: Passphrase,
        email: orNull(Email, "What to sign in with from now on; null: as before.")
      }),
      success: Schema.Struct({ session: ConsoleSession }),
      error: [...bodyErrors, RateLimited]
    }).annotateMerge(described("changePassphrase", "Set the passphrase; all other sessions are over then")),
    HttpApiEndpoint.get("listSessions", "/sessions", {
      success: Schema.Struct({ sessions: Schema.Array(ListedSession) })
    }).annotateMerge(described("listSessions", "Sessions of the account that are not over, the latest first")),
    HttpApiEndpoint.delete("endSession", "/sessions/:id", {
      params: { id: SessionId },
      success: HttpApiSchema.NoContent,
      error: NotFound
    }).annotateMerge(described("endSession", "End a session of the account")),
    HttpApiEndpoint.post("createTicket", "/tickets", {
      success: Schema.Struct({ ticket: Schema.String, expiresAt: Timestamp }).pipe(HttpApiSchema.status(201)),
      error: RateLimited
    })
      .annotate(ReadOnly, true)
      .annotateMerge(described("createTicket", "What opens a WebSocket as this session, once"))
  )
  .middleware(SignedIn) {}
