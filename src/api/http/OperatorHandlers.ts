/** The operator's part of the console: sign-in by a link, and the hosts of the fleet. These responses must never be cached. */
import type { IncomingMessage } from "node:http"
import { Clock, Effect, Layer } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { SqlClient } from "effect/sql"
import { Operator } from "../../../schemas/Access.ts"
import type { HostLife, HostPage } from "../../../schemas/console/Hosts.ts"
import type { InstallationAction } from "../../../schemas/console/OperatedAudit.ts"
import type { OperatorSession as ShownSession } from "../../../schemas/console/Operator.ts"
import { OperatorApi } from "../../../schemas/console/OperatorApi.ts"
import type { WorkerPage } from "../../../schemas/console/Workers.ts"
import { InvalidRequest, NotFound } from "../../../schemas/Errors.ts"
import { clientAddress } from "../../access/gateway/Clients.ts"
import { noteInstallation } from "../../account/OperatorAudit.ts"
import { Settings } from "../../Config.ts"
import { Attempts } from "../../console/server/Attempts.ts"
import { type OperatorSession, OperatorSessions } from "../../console/server/OperatorSessions.ts"
import { timestamp } from "../../console/server/operating/times.ts"
import { csrfOf } from "../../console/server/Token.ts"
import { type HostRefused, removeHost, wishOfHost } from "../../fleet/askHost.ts"
import { type HostRow, Hosts } from "../../fleet/Hosts.ts"
import { hostDocument } from "../../fleet/hostDocument.ts"
import { Workers } from "../../platform/worker/Worker.ts"
import { changeBegins } from "../../store/Change.ts"
import { leanGroup } from "./LeanContext.ts"
import { asOperator, unkept } from "./OperatorActs.ts"
import { OperatorCookie, tokenOf } from "./SessionCookie.ts"

const shown = (session: OperatorSession, token: string): { readonly session: ShownSession } => ({
  session: {
    id: session.id,
    csrf: csrfOf(token),
    createdAt: timestamp(session.createdAt),
    expiresAt: timestamp(session.endsAt)
  }
})

/** Sign-ins are no changes: the service's log has them. */
const log = (sentence: string, fields: Readonly<Record<string, string>>) =>
  Effect.annotateLogs(Effect.logInfo(sentence), fields)

const entrance = leanGroup(
  OperatorApi,
  "operatorEntrance",
  Effect.fnUntraced(function* (handlers) {
    const sessions = yield* OperatorSessions
    const attempts = yield* Attempts
    const cookie = yield* OperatorCookie
    return handlers.handle(
      "signInAsOperator",
      Effect.fnUntraced(function* ({ payload, request }) {
        const sourceIp = clientAddress(request.source as IncomingMessage)
        const visitor = { address: sourceIp, userAgent: request.headers["user-agent"] ?? null }
        const { session, token } = yield* sessions
          .enter(payload.code, visitor)
          .pipe(Effect.provideService(Attempts, attempts))
        yield* log("The operator signed in to the console", { sessionId: session.id, sourceIp })
        return HttpServerResponse.setHeader(unkept(shown(session, token)), "set-cookie", cookie.set(token))
      }),
      { uninterruptible: true }
    )
  })
)

const session = leanGroup(
  OperatorApi,
  "operatorSession",
  Effect.fnUntraced(function* (handlers) {
    const sessions = yield* OperatorSessions
    const cookie = yield* OperatorCookie
    return handlers
      .handle(
        "getOperatorSession",
        Effect.fnUntraced(function* ({ request }) {
          const token = tokenOf(request.source as IncomingMessage)
          return unkept(shown(yield* sessions.authenticate(token), token))
        })
      )
      .handle(
        "signOutAsOperator",
        Effect.fnUntraced(function* () {
          const { sessionId } = yield* Operator
          yield* changeBegins
          yield* sessions.end(sessionId)
          return HttpServerResponse.empty({ status: 204, headers: { "set-cookie": cookie.cleared } })
        }),
        { uninterruptible: true }
      )
  })
)

const wishes = { cordon: "CORDON", drain: "DRAIN", uncordon: "UNCORDON" } as const

const refusal = ({ why, message }: HostRefused) => {
  if (why === "gone") return new NotFound({ message })
  const more = why === "used" ? ". A forced removal is still possible, and gives up its volumes." : ""
  return new InvalidRequest({ message: `${message}${more}`, details: { issues: [] } })
}

const hosts = leanGroup(
  OperatorApi,
  "hosts",
  Effect.fnUntraced(function* (handlers) {
    const hosts = yield* Hosts
    const sql = yield* SqlClient.SqlClient
    const { role } = yield* Settings
    const found = Effect.fnUntraced(function* (hostId: string) {
      return (yield* hosts.find(hostId)) ?? (yield* new NotFound({ message: "There is no such host." }))
    })
    const now = (row: HostRow) => Effect.map(Clock.currentTimeMillis, (at) => hostDocument(row, at))
    const told = (row: HostRow | null) =>
      row === null ? Effect.succeed(unkept({ host: null })) : Effect.map(now(row), (host) => unkept({ host }))
    /** The host's own log only says that it was the operator. */
    const asked = (
      request: HttpServerRequest.HttpServerRequest,
      action: InstallationAction,
      row: HostRow,
      act: Effect.Effect<HostRow | null, HostRefused, Hosts>
    ) =>
      asOperator(
        request,
        Effect.tap(act, () => noteInstallation(action, row.id)).pipe(
          Effect.mapError(refusal),
          Effect.provideService(Hosts, hosts),
          Effect.provideService(SqlClient.SqlClient, sql)
        )
      ).pipe(Effect.flatMap(told))
    return handlers
      .handle(
        "listHosts",
        Effect.fnUntraced(function* ({ query: { limit, cursor, state, find } }) {
          const page = yield* hosts.page({ limit, after: cursor ?? null, state: state ?? null, find: find ?? "" })
          const at = yield* Clock.currentTimeMillis
          const body: HostPage = {
            isFleet: role === "service",
            states: page.states,
            hosts: page.rows.map((row) => hostDocument(row, at)),
            matching: page.matching,
            nextCursor: page.hasMore ? page.rows.at(-1)!.id : null
          }
          return unkept(body)
        })
      )
      .handle(
        "getHost",
        Effect.fnUntraced(function* ({ params: { hostId } }) {
          const row = yield* found(hostId)
          const steps = yield* hosts.steps(hostId)
          const body: HostLife = {
            host: yield* now(row),
            transitions: steps.map((step) => ({ ...step, at: timestamp(step.at) }))
          }
          return unkept(body)
        })
      )
      .handle(
        "wishOfHost",
        Effect.fnUntraced(function* ({ request, params: { hostId }, payload: { wish } }) {
          const row = yield* found(hostId)
          return yield* asked(request, `${wish}Host`, row, wishOfHost(row, wishes[wish]))
        })
      )
      .handle(
        "removeHost",
        Effect.fnUntraced(function* ({ request, params: { hostId }, payload: { isForced } }) {
          const row = yield* found(hostId)
          return yield* asked(request, "removeHost", row, removeHost(row, isForced))
        })
      )
  })
)

const workers = leanGroup(
  OperatorApi,
  "workers",
  Effect.fnUntraced(function* (handlers) {
    const workers = yield* Workers
    return handlers.handle("listWorkers", () =>
      Effect.sync(() => {
        const body: WorkerPage = { workers: workers.byName.map(({ isVital, ...shown }) => shown) }
        return unkept(body)
      })
    )
  })
)

export const OperatorHandlers = { layer: Layer.mergeAll(entrance, session, hosts, workers) }
