/** Registration, sign-in and sessions. The token is only in the cookie, and these responses must never be cached. */
import type { IncomingMessage } from "node:http"
import { Effect, Layer } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { Caller } from "../../../schemas/Access.ts"
import { ConsoleApi } from "../../../schemas/console/ConsoleApi.ts"
import type { ConsoleSession, ListedSession } from "../../../schemas/console/Session.ts"
import { NotFound } from "../../../schemas/Errors.ts"
import { clientAddress } from "../../access/gateway/Clients.ts"
import { Accounts } from "../../account/Accounts.ts"
import { awaitLeases } from "../../account/KeyLease.ts"
import { Attempts, ticketRate } from "../../console/server/Attempts.ts"
import { type Opened, Registration } from "../../console/server/Registration.ts"
import { type Session, Sessions, type Visitor } from "../../console/server/Sessions.ts"
import { SignIn } from "../../console/server/SignIn.ts"
import { Tickets } from "../../console/server/Tickets.ts"
import { csrfOf } from "../../console/server/Token.ts"
import { changeBegins } from "../../store/Change.ts"
import { noteAccount, noteTarget } from "./AuditedRequest.ts"
import { jsonAnswer } from "./JsonAnswer.ts"
import { leanGroup } from "./LeanContext.ts"
import { SessionCookie, tokenOf } from "./SessionCookie.ts"

type Request = HttpServerRequest.HttpServerRequest

const timestamp = (ms: number): string => new Date(ms).toISOString()

const nodeRequest = (request: Request): IncomingMessage => request.source as IncomingMessage

const visitorOf = (request: Request): Visitor => ({
  address: clientAddress(nodeRequest(request)),
  userAgent: request.headers["user-agent"] ?? null
})

const unkept = (response: HttpServerResponse.HttpServerResponse) =>
  HttpServerResponse.setHeader(response, "cache-control", "no-store")

const listed = (session: Session, current: string | null): ListedSession => ({
  id: session.id,
  isCurrent: session.id === current,
  openedBy: session.openedBy,
  createdAt: timestamp(session.createdAt),
  lastUsedAt: timestamp(session.lastUsedAt),
  expiresAt: timestamp(session.endsAt),
  sourceIp: session.sourceIp,
  userAgent: session.userAgent
})

/** The caller's own session, as its page sees it. */
const shown = Effect.gen(function* () {
  const accounts = yield* Accounts
  const signIn = yield* SignIn
  return Effect.fnUntraced(function* (session: Session, token: string) {
    const [account, email] = yield* Effect.all([accounts.get(session.accountId), signIn.emailOf(session.accountId)])
    const body: ConsoleSession = {
      id: session.id,
      account: { id: account!.id, name: account!.name, billing: account!.billing },
      email,
      openedBy: session.openedBy,
      csrf: csrfOf(token),
      createdAt: timestamp(session.createdAt),
      expiresAt: timestamp(session.endsAt)
    }
    return { session: body }
  })
})

/** Responds with the new session and its cookie. */
const opening = Effect.gen(function* () {
  const cookie = yield* SessionCookie
  const show = yield* shown
  return Effect.fnUntraced(function* ({ session, token }: Opened, status: number) {
    const answer = unkept(jsonAnswer(yield* show(session, token), status))
    return HttpServerResponse.setHeader(answer, "set-cookie", cookie.set(token))
  })
})

const entrance = leanGroup(
  ConsoleApi,
  "entrance",
  Effect.fnUntraced(function* (handlers) {
    const registration = yield* Registration
    const signIn = yield* SignIn
    const opened = yield* opening
    const whose = (request: Request) => (accountId: string) => noteAccount(request, accountId)
    return handlers
      .handle(
        "lookUpInvitation",
        Effect.fnUntraced(function* ({ payload, request }) {
          const { email, creditMicroUsd, expiresAt } = yield* registration.invitation(payload.code, visitorOf(request))
          return unkept(
            jsonAnswer({
              invitation: { email, creditMicroUsd: Number(creditMicroUsd), expiresAt: timestamp(expiresAt) }
            })
          )
        })
      )
      .handle(
        "register",
        Effect.fnUntraced(function* ({ payload, request }) {
          const made = yield* registration.register(payload, visitorOf(request))
          noteAccount(request, made.session.accountId)
          noteTarget(request, made.session.accountId)
          return yield* opened(made, 201)
        }),
        { uninterruptible: true }
      )
      .handle(
        "signIn",
        Effect.fnUntraced(function* ({ payload, request }) {
          return yield* opened(yield* signIn.byPassphrase(payload, visitorOf(request), whose(request)), 200)
        }),
        { uninterruptible: true }
      )
      .handle(
        "signInByLink",
        Effect.fnUntraced(function* ({ payload, request }) {
          return yield* opened(yield* signIn.byLink(payload.code, visitorOf(request), whose(request)), 200)
        }),
        { uninterruptible: true }
      )
  })
)

const session = leanGroup(
  ConsoleApi,
  "session",
  Effect.fnUntraced(function* (handlers) {
    const attempts = yield* Attempts
    const sessions = yield* Sessions
    const tickets = yield* Tickets
    const signIn = yield* SignIn
    const cookie = yield* SessionCookie
    const show = yield* shown
    const opened = yield* opening
    return handlers
      .handle(
        "getSession",
        Effect.fnUntraced(function* ({ request }) {
          const { sessionId } = yield* Caller
          const found = yield* sessions.get(sessionId!)
          return unkept(jsonAnswer(yield* show(found!, tokenOf(nodeRequest(request)))))
        })
      )
      .handle(
        "signOut",
        Effect.fnUntraced(function* ({ payload }) {
          const { accountId, sessionId } = yield* Caller
          yield* changeBegins
          if (payload.everywhere) yield* Effect.andThen(sessions.endAll(accountId, null), awaitLeases)
          else yield* sessions.end(accountId, sessionId!)
          return HttpServerResponse.empty({ status: 204, headers: { "set-cookie": cookie.cleared } })
        }),
        { uninterruptible: true }
      )
      .handle(
        "changePassphrase",
        Effect.fnUntraced(function* ({ payload, request }) {
          const { accountId, sessionId } = yield* Caller
          noteTarget(request, accountId)
          const wanted = { accountId, sessionId: sessionId!, ...payload, passphrase: payload.new }
          return yield* opened(yield* signIn.changePassphrase(wanted, visitorOf(request)), 200)
        }),
        { uninterruptible: true }
      )
      .handle(
        "listSessions",
        Effect.fnUntraced(function* () {
          const { accountId, sessionId } = yield* Caller
          const found = yield* sessions.list(accountId)
          return unkept(jsonAnswer({ sessions: found.map((one) => listed(one, sessionId)) }))
        })
      )
      .handle(
        "endSession",
        Effect.fnUntraced(function* ({ params }) {
          const { accountId } = yield* Caller
          yield* changeBegins
          if (!(yield* sessions.end(accountId, params.id))) return yield* new NotFound()
        }),
        { uninterruptible: true }
      )
      .handle(
        "createTicket",
        Effect.fnUntraced(function* () {
          const { accountId, sessionId } = yield* Caller
          yield* attempts.take(`tickets ${accountId}`, ticketRate)
          const { ticket, expiresAt } = yield* tickets.create(sessionId!)
          return unkept(jsonAnswer({ ticket, expiresAt: timestamp(expiresAt) }, 201))
        })
      )
  })
)

export const ConsoleSessionHandlers = { layer: Layer.merge(entrance, session) }
