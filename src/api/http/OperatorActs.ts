/** The answers of the operator's page, and its acts: done by the code of the command line, and in its words. */
import type { IncomingMessage } from "node:http"
import { type Context, Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { SqlClient } from "effect/sql"
import { Operator } from "../../../schemas/Access.ts"
import type { Acted } from "../../../schemas/console/Acted.ts"
import { InvalidRequest } from "../../../schemas/Errors.ts"
import { clientAddress } from "../../access/gateway/Clients.ts"
import type { Accounts } from "../../account/Accounts.ts"
import type { ApiKeys } from "../../account/ApiKeys.ts"
import { heldUserAgent } from "../../account/Audit.ts"
import { OperatorWay } from "../../account/OperatorAudit.ts"
import type { Settings } from "../../Config.ts"
import type { Invitations } from "../../console/server/Invitations.ts"
import type { Done } from "../../console/server/operating/Done.ts"
import type { SignInLinks } from "../../console/server/SignInLinks.ts"
import { changeBegins } from "../../store/Change.ts"
import type { MaintenanceDatabase } from "../../store/Database.ts"
import type { Ledger } from "../../wallet/Ledger.ts"
import { jsonAnswer } from "./JsonAnswer.ts"

/** What the acts need; a handler takes it while it is built (`LeanContext.ts`). */
export type OperatorServices =
  | Accounts
  | ApiKeys
  | Ledger
  | Invitations
  | SignInLinks
  | Settings
  | SqlClient.SqlClient
  | MaintenanceDatabase

export const operatorServices = Effect.context<OperatorServices>()

/** An answer that no cache keeps. */
export const unkept = (body: object) => HttpServerResponse.setHeader(jsonAnswer(body), "cache-control", "no-store")

/** A refused act: its message is the command line's. */
export const refused = ({ message }: { readonly message: string }) =>
  new InvalidRequest({ message, details: { issues: [] } })

/** The audit log names the call, its address and its request, and the service's log the session. */
export const asOperator = <A, E, R>(request: HttpServerRequest.HttpServerRequest, act: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const source = request.source as IncomingMessage
    const { sessionId, requestId } = yield* Operator
    const path = request.url.split("?", 1)[0]!
    const sourceIp = clientAddress(source)
    yield* changeBegins
    const done = yield* Effect.provideService(act, OperatorWay, {
      method: request.method,
      path,
      requestId,
      sourceIp,
      userAgent: heldUserAgent(request.headers["user-agent"] ?? null)
    })
    yield* Effect.annotateLogs(Effect.logInfo("The operator acted in the console"), { sessionId, path, sourceIp })
    return done
  })

/** Does an act as the operator of this page, and says what was done. */
export const acting = <E extends { readonly message: string }>(
  request: HttpServerRequest.HttpServerRequest,
  services: Context.Context<OperatorServices>,
  act: Effect.Effect<Done, E, OperatorServices>
) =>
  asOperator(request, act.pipe(Effect.mapError(refused), Effect.provideContext(services))).pipe(
    Effect.map(({ said, link, secret }) => {
      const body: Acted = { said, link, secret }
      return unkept(body)
    })
  )
